/**
 * Lets plain Node run the simulation: './x.js' is the './x.ts' that is there, whose types Node strips, and what lies in
 * src comes built from dist. With SIM_PLANT, the named bug is planted while files are loaded; the files stay as they are.
 */
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import { plants } from './plants.mjs'

const root = new URL('../../', import.meta.url).href
const plantName = process.env.SIM_PLANT ?? ''
const plant = plants.find(({ name }) => name === plantName)
if (plantName !== '' && plant === undefined) throw new Error(`there is no plant ${plantName}`)

registerHooks({
  resolve(specifier, context, nextResolve) {
    if (!specifier.startsWith('.') || context.parentURL === undefined) return nextResolve(specifier, context)
    const url = new URL(specifier, context.parentURL).href
    if (url.startsWith(`${root}src/`)) return nextResolve(url.replace(`${root}src/`, `${root}dist/`), context)
    if (url.startsWith(`${root}test/`)) return nextResolve(url.replace(/\.js$/, '.ts'), context)
    return nextResolve(specifier, context)
  },
  load(url, context, nextLoad) {
    const patches = plant?.patches.filter(({ file }) => url === `${root}dist/${file}`) ?? []
    if (patches.length === 0) return nextLoad(url, context)
    const source = patches.reduce(
      (text, { file, from, to }) => {
        if (text.split(from).length !== 2) throw new Error(`plant ${plantName}: not once in ${file}: ${from}`)
        return text.replace(from, () => to)
      },
      readFileSync(fileURLToPath(url), 'utf8'),
    )
    return { format: 'module', source, shortCircuit: true }
  },
})
