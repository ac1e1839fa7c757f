/**
 * Token vectors to one.
 */
import { expect, test } from 'vitest'
import { poolRow } from './pooling.js'

// Two rows of three tokens of two values; the second row has one token and padding.
const output = {
  values: Float32Array.of(1, 2, 3, 4, 5, 9, /* row 1 */ 3, 4, 100, 100, 100, 100),
  length: 3,
  dim: 2,
}
const pooled = (row: number, count: number, pooling: 'mean' | 'cls', normalize = false): number[] => {
  const target = new Float32Array(2)
  poolRow(output, row, count, { pooling, normalize }, target)
  return [...target]
}

test('a mean covers the tokens of the row without padding', () => {
  expect(pooled(0, 3, 'mean')).toEqual([3, 5])
  expect(pooled(1, 1, 'mean')).toEqual([3, 4])
})

test('cls is the first token', () => {
  expect(pooled(0, 3, 'cls')).toEqual([1, 2])
})

test('a normalised vector has length 1, and one of zeros stays one', () => {
  const [x, y] = pooled(1, 1, 'mean', true)
  expect(x).toBeCloseTo(0.6, 6)
  expect(y).toBeCloseTo(0.8, 6)
  const target = new Float32Array(2)
  const zeros = { values: new Float32Array(2), length: 1, dim: 2 }
  expect(poolRow(zeros, 0, 1, { pooling: 'mean', normalize: true }, target)).toBe(true)
  expect([...target]).toEqual([0, 0])
})

test('a pooled output is used unchanged', () => {
  const target = new Float32Array(2)
  const done = { values: Float32Array.of(1, 2, 3, 4), length: null, dim: 2 }
  expect(poolRow(done, 1, 7, { pooling: 'mean', normalize: false }, target)).toBe(true)
  expect([...target]).toEqual([3, 4])
})

test('a vector that is not finite is rejected and zeroed', () => {
  const target = Float32Array.of(7, 7)
  const broken = { values: Float32Array.of(NaN, 1), length: 1, dim: 2 }
  expect(poolRow(broken, 0, 1, { pooling: 'mean', normalize: false }, target)).toBe(false)
  expect([...target]).toEqual([0, 0])
})
