import { readFileSync, existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { chooseFiles, problemsOf, scoresOf } from './scores.js'

test('the score of a file is the share of its mutants that a test noticed, rounded down', () => {
  const of = (file: string, ...statuses: string[]) => statuses.map((status) => ({ file, status }))
  const mutants = [
    ...of('src/pool/a.ts', 'Killed', 'Timeout', 'Survived', 'Ignored', 'CompileError', 'RuntimeError'),
    ...of('src/pool/b.ts', 'NoCoverage', 'Killed'),
    ...of('src/pool/c.ts', 'Ignored'),
  ]
  expect([...scoresOf(mutants, 'noticed')]).toEqual([
    ['src/pool/a.ts', 66],
    ['src/pool/b.ts', 50],
  ])
})

test('a floor counts endless loops, and not what ran out of time: no later run falls below it by chance', () => {
  const statuses = [
    { status: 'Timeout', statusReason: 'Hit limit reached (501/500)' },
    { status: 'Timeout' },
    { status: 'Survived' },
  ]
  const mutants = statuses.map((each) => ({ file: 'src/pool/a.ts', ...each }))
  expect([...scoresOf(mutants, 'survived')]).toEqual([['src/pool/a.ts', 33]])
  expect([...scoresOf(mutants, 'noticed')]).toEqual([['src/pool/a.ts', 66]])
})

test('a score below its floor is a problem, and so is a file without a floor', () => {
  const scores = new Map([
    ['a.ts', 80],
    ['b.ts', 79],
    ['c.ts', 100],
  ])
  expect(problemsOf(scores, { 'a.ts': 80, 'b.ts': 80, 'd.ts': 90 })).toEqual([
    'b.ts fell from 80 to 79 %: test what survived, or lower its floor',
    'c.ts has no floor: measure it with --record',
  ])
})

test('files are chosen in a circle up to the limit of lines, and at least one', () => {
  const files = ['a', 'b', 'c'].map((file) => ({ file, lines: 100 }))
  expect(chooseFiles(files, 0, 300)).toEqual(['a', 'b', 'c'])
  expect(chooseFiles(files, 5, 200)).toEqual(['c', 'a'])
  expect(chooseFiles(files, 1, 10)).toEqual(['b'])
  expect(chooseFiles([], 1, 10)).toEqual([])
})

test('every floor is that of a file that exists', () => {
  const floors = JSON.parse(readFileSync('test/mutation/floors.json', 'utf8')) as Record<string, number>
  expect(Object.keys(floors).filter((file) => !existsSync(file))).toEqual([])
  expect(Object.keys(floors).length).toBeGreaterThan(0)
})
