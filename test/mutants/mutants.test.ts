/** The lists of mutants match the sources: an edit of a mutated line changes its mutant too. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { mutants } from './index.js'
import { applyEdits, editsByFile } from './mutant.js'
import { projectDir } from '../helpers/server-process.js'

test('every mutant changes text that occurs exactly once in its file', () => {
  const problems = mutants.flatMap((mutant) =>
    [...editsByFile(mutant)].flatMap(([file, edits]) => {
      try {
        const source = readFileSync(join(projectDir, file), 'utf8')
        return applyEdits(source, edits) === source ? [`${mutant.name}: changes nothing`] : []
      } catch (error) {
        return [`${mutant.name}: ${(error as Error).message}`]
      }
    }),
  )
  expect(problems).toEqual([])
})

test('every folder has mutants in proportion to its lines, and there are at least 200', () => {
  const linesPerMutantMax = 250
  const folders = readdirSync(join(projectDir, 'src')).filter((name) => name !== 'native')
  const rare = folders.filter((folder) => {
    const files = readdirSync(join(projectDir, 'src', folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /(?<!\.test)\.(ts|cc)$/.test(name))
      .map((name) => readFileSync(join(projectDir, 'src', folder, name), 'utf8'))
    const lineCount = files.reduce((sum, text) => sum + text.split('\n').length - 1, 0)
    const count = mutants.filter(({ edits }) => edits[0]?.file.startsWith(`src/${folder}/`)).length
    return count * linesPerMutantMax < lineCount
  })
  expect(rare).toEqual([])
  expect(mutants.length).toBeGreaterThanOrEqual(200)
})

test('mutant names are unique and refer to existing tests', () => {
  expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length)
  const tests = new Set(mutants.flatMap(({ killedBy }) => (killedBy === 'simulation' ? [] : killedBy)))
  expect([...tests].filter((file) => !existsSync(join(projectDir, file)))).toEqual([])
})
