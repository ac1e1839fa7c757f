/** What a run of mutants prints, and which files it takes. */
import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { chooseFiles, scoreOf } from './scores.js'

const mutants = (...statuses: string[]) => statuses.map((status) => ({ file: 'src/pool/a.ts', status }))

test('the score is the share of the mutants that a test noticed, rounded down', () => {
  expect(
    scoreOf(mutants('Killed', 'Timeout', 'Survived', 'Ignored', 'CompileError', 'RuntimeError'), 'noticed'),
  ).toBe(66)
  expect(scoreOf(mutants('NoCoverage', 'Killed'), 'noticed')).toBe(50)
  expect(scoreOf(mutants('Ignored'), 'noticed')).toBeNull()
})

test('a floor counts endless loops, and not what ran out of time: no later run falls below it by chance', () => {
  const statuses = [
    { status: 'Timeout', statusReason: 'Hit limit reached (501/500)' },
    { status: 'Timeout' },
    { status: 'Survived' },
  ].map((each) => ({ file: 'src/pool/a.ts', ...each }))
  expect(scoreOf(statuses, 'survived')).toBe(33)
  expect(scoreOf(statuses, 'noticed')).toBe(66)
})

test('files are chosen in a circle up to the limit of lines, and at least one', () => {
  const files = ['a', 'b', 'c'].map((file) => ({ file, lines: 100 }))
  expect(chooseFiles(files, 0, 300)).toEqual(['a', 'b', 'c'])
  expect(chooseFiles(files, 5, 200)).toEqual(['c', 'a'])
  expect(chooseFiles(files, 1, 10)).toEqual(['b'])
  expect(chooseFiles([], 1, 10)).toEqual([])
})

test('every floor is that of a folder that exists', () => {
  const floors = JSON.parse(readFileSync('test/mutation/floors.json', 'utf8')) as Record<string, number>
  expect(Object.keys(floors).filter((room) => !existsSync(`src/${room}`))).toEqual([])
  expect(Object.keys(floors).length).toBeGreaterThan(0)
})
