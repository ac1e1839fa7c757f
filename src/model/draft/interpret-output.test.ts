/**
 * Values of a trial batch and what they are taken for.
 */
import { expect, test } from 'vitest'
import { interpretOutput } from './interpret-output.js'

const rows = 100
const column = (value: (row: number) => number): Float32Array =>
  Float32Array.from({ length: rows }, (_, row) => value(row))
const share = column((row) => (row + 0.5) / rows)
const logit = column((row) => (row - 50) / 10)
const minus = (values: Float32Array): Float32Array => values.map((value) => -value)
const rest = share.map((value) => 1 - value)
const short = (name: string, columns: Float32Array[]) =>
  interpretOutput(name, columns).map(({ column: { value, state }, activation }) => [
    value,
    state,
    activation.value,
    activation.state,
  ])

test.each([
  ['a probability by its name', 'probs', [share], [[0, 'read', 'none', 'read']]],
  ['shares without such a name as a regression', 'variable', [share], [[0, 'read', 'clip', 'guessed']]],
  ['values of both signs as a logit', 'sum', [logit], [[0, 'read', 'sigmoid', 'guessed']]],
  [
    'three columns of shares as three heads',
    'probs',
    [share, share, share],
    [0, 1, 2].map((at) => [at, 'read', 'none', 'read']),
  ],
  [
    'two columns that add up to 1 as two classes',
    'probabilities',
    [rest, share],
    [[1, 'guessed', 'none', 'read']],
  ],
  [
    'two columns that add up to 0 as scores of two classes',
    'probabilities',
    [minus(logit), logit],
    [[1, 'guessed', 'sigmoid', 'guessed']],
  ],
  [
    'two columns of other logits for their softmax',
    'logits',
    [logit, logit.map((value) => 3 - 2 * value)],
    [[1, 'guessed', 'softmax', 'guessed']],
  ],
  [
    'several classes that add up to 1 as one head',
    'probabilities',
    [share.map((v) => v / 2), share.map((v) => v / 2), rest],
    [[2, 'guessed', 'none', 'read']],
  ],
] as const)('takes %s', (_title, name, columns, expected) => {
  expect(short(name, [...columns])).toEqual(expected)
})

test('takes a regression that is seldom outside 0 to 1 for one', () => {
  const regression = column((row) => row / (rows - 5))
  expect(short('sum', [regression])).toEqual([[0, 'read', 'clip', 'guessed']])
})

test.each([
  [0, 100, 0.01],
  [0.5, 12, undefined],
  [-3, 60, undefined],
  [0, 140, undefined],
])('takes a regression from %d to %d for per cent, or not', (min, max, scale) => {
  const values = column((row) => min + ((max - min) * row) / (rows - 1))
  expect(interpretOutput('variable', [values])[0]?.scale?.value).toBe(scale)
})

test('says that values that are never negative may be counts', () => {
  const counts = column((row) => 5 * row)
  expect(interpretOutput('variable', [counts])[0]?.activation.source).toMatch(/set scale and offset instead$/)
})
