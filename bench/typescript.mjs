/**
 * Lets plain Node run the TypeScript of this folder: Node strips the types, and this resolves './x.js', as tsc wants
 * imports to be written, to the './x.ts' that is there. `node --import ./bench/typescript.mjs bench/run.ts`.
 */
import { registerHooks } from 'node:module'

registerHooks({
  resolve(specifier, context, nextResolve) {
    try {
      return nextResolve(specifier, context)
    } catch (error) {
      if (!specifier.startsWith('.') || !specifier.endsWith('.js')) throw error
      return nextResolve(`${specifier.slice(0, -'.js'.length)}.ts`, context)
    }
  },
})
