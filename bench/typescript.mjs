/**
 * Module hooks that let plain Node run TypeScript: Node strips the types, and the hook resolves './x.js', the form of imports
 * that tsc requires, to './x.ts'. Usage: `node --import ./bench/typescript.mjs bench/run.ts`.
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
