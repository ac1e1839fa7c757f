/**
 * Module hooks that let plain Node run the simulation: './x.js' resolves to './x.ts', whose types Node strips, and files
 * of src come built from dist. With SIM_MUTANT, the named mutant is applied to files as they are loaded, not on disk.
 */
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import { mutants } from './mutants.ts'

const root = new URL('../../', import.meta.url).href
const mutantName = process.env.SIM_MUTANT ?? ''
const mutant = mutants.find(({ name }) => name === mutantName)
if (mutantName !== '' && mutant === undefined) throw new Error(`there is no mutant ${mutantName}`)

registerHooks({
  resolve(specifier, context, nextResolve) {
    if (!specifier.startsWith('.') || context.parentURL === undefined) return nextResolve(specifier, context)
    const url = new URL(specifier, context.parentURL).href
    if (url.startsWith(`${root}src/`)) return nextResolve(url.replace(`${root}src/`, `${root}dist/`), context)
    if (url.startsWith(`${root}test/`)) return nextResolve(url.replace(/\.js$/, '.ts'), context)
    return nextResolve(specifier, context)
  },
  load(url, context, nextLoad) {
    const patches = mutant?.patches.filter(({ file }) => url === `${root}dist/${file}`) ?? []
    if (patches.length === 0) return nextLoad(url, context)
    const source = patches.reduce(
      (text, { file, from, to }) => {
        if (text.split(from).length !== 2)
          throw new Error(`mutant ${mutantName}: not exactly once in ${file}: ${from}`)
        return text.replace(from, () => to)
      },
      readFileSync(fileURLToPath(url), 'utf8'),
    )
    return { format: 'module', source, shortCircuit: true }
  },
})
