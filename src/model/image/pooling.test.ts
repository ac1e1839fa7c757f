/**
 * Outputs of image encoders to one vector an image.
 */
import { expect, test } from 'vitest'
import { poolImage, type ImageOutput } from './pooling.js'

function pooled(output: ImageOutput, image: number, pool: 'cls' | 'mean' | null): number[] {
  const target = new Float32Array(2)
  expect(poolImage(output, image, pool, target)).toBe(true)
  return [...target]
}

test('a vector is used unchanged, whatever the pooling', () => {
  const output = { values: Float32Array.of(1, 2, 3, 4), dims: [2, 2] }
  for (const pool of ['cls', 'mean', null] as const) expect(pooled(output, 1, pool)).toEqual([3, 4])
})

test('cls is the first token, and mean that of all tokens', () => {
  const output = { values: Float32Array.of(0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 9), dims: [2, 3, 2] }
  expect(pooled(output, 1, 'cls')).toEqual([1, 2])
  expect(pooled(output, 1, 'mean')).toEqual([3, 5])
})

test('mean is that of each plane of cells', () => {
  const output = { values: Float32Array.of(0, 0, 0, 0, 1, 3, 10, 20), dims: [2, 2, 1, 2] }
  expect(pooled(output, 1, 'mean')).toEqual([2, 15])
})

test('a vector that is not finite is rejected and zeroed', () => {
  const target = Float32Array.of(7, 7)
  expect(poolImage({ values: Float32Array.of(1, Infinity), dims: [1, 2] }, 0, null, target)).toBe(false)
  expect([...target]).toEqual([0, 0])
})
