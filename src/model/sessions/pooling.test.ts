/**
 * The output of an encoder's graph to one vector per text or image.
 */
import { describe, expect, test } from 'vitest'
import { poolOutput, type EncoderOutput, type PoolOptions } from './pooling.js'

function pooled(output: EncoderOutput, item: number, options: PoolOptions): number[] {
  const target = new Float32Array(2)
  expect(poolOutput(output, item, options, target)).toBe(true)
  return [...target]
}

describe('of tokens,', () => {
  // Two items of three tokens of two values; the second item has one token and padding.
  const output = {
    values: Float32Array.of(1, 2, 3, 4, 5, 9, /* item 1 */ 3, 4, 100, 100, 100, 100),
    dims: [2, 3, 2],
  }

  test('a mean covers the tokens of the item without padding', () => {
    expect(pooled(output, 0, { pool: 'mean' })).toEqual([3, 5])
    expect(pooled(output, 0, { pool: 'mean', tokenCount: 2 })).toEqual([2, 3])
    expect(pooled(output, 1, { pool: 'mean', tokenCount: 1 })).toEqual([3, 4])
  })

  test('cls is the first one', () => {
    expect(pooled(output, 1, { pool: 'cls', tokenCount: 1 })).toEqual([3, 4])
  })

  test('a normalised vector has length 1, and one of zeros stays one', () => {
    const [x, y] = pooled(output, 1, { pool: 'mean', tokenCount: 1, normalize: true })
    expect(x).toBeCloseTo(0.6, 6)
    expect(y).toBeCloseTo(0.8, 6)
    const zeros = { values: new Float32Array(2), dims: [1, 1, 2] }
    expect(pooled(zeros, 0, { pool: 'mean', normalize: true })).toEqual([0, 0])
  })
})

test('a vector is used unchanged, whatever the pooling', () => {
  const output = { values: Float32Array.of(1, 2, 3, 4), dims: [2, 2] }
  for (const pool of ['cls', 'mean', null] as const)
    expect(pooled(output, 1, { pool, tokenCount: 7 })).toEqual([3, 4])
})

test('the mean of cells is that of each plane', () => {
  const output = { values: Float32Array.of(0, 0, 0, 0, 1, 3, 10, 20), dims: [2, 2, 1, 2] }
  expect(pooled(output, 1, { pool: 'mean' })).toEqual([2, 15])
})

test('a vector that is not finite is rejected and zeroed', () => {
  for (const values of [Float32Array.of(1, Infinity), Float32Array.of(NaN, 1)]) {
    const target = Float32Array.of(7, 7)
    expect(poolOutput({ values, dims: [1, 2] }, 0, { pool: null }, target)).toBe(false)
    expect([...target]).toEqual([0, 0])
  }
})
