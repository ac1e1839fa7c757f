/**
 * Module hooks that let plain Node run the simulation: './x.js' resolves to './x.ts', whose types Node strips, and files
 * of src come built from dist.
 */
import { registerHooks } from 'node:module'

const root = new URL('../../', import.meta.url).href

registerHooks({
  resolve(specifier, context, nextResolve) {
    if (!specifier.startsWith('.') || context.parentURL === undefined) return nextResolve(specifier, context)
    const url = new URL(specifier, context.parentURL).href
    if (url.startsWith(`${root}src/`)) return nextResolve(url.replace(`${root}src/`, `${root}dist/`), context)
    if (url.startsWith(`${root}test/`)) return nextResolve(url.replace(/\.js$/, '.ts'), context)
    return nextResolve(specifier, context)
  },
})
