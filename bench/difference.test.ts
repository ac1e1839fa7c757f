/** Differences between two kinds of cycles, computed from known samples. */
import { expect, test } from 'vitest'
import { Rng } from '../src/simulator/rng.js'
import { differenceOf, differenceText, type Round } from './difference.js'

/** Rounds of cycles of about 30 ms. Rounds vary more than cycles within a round; a is slower by `addMs`. */
function rounds(seed: number, addMs: number): Round[] {
  const rng = new Rng('rounds', seed)
  return Array.from({ length: 20 }, () => {
    const roundMs = 30 + 5 * rng.next()
    const samples = (more: number): number[] =>
      Array.from({ length: 40 }, () => roundMs + 3 * rng.next() + more)
    return { aMs: samples(addMs), bMs: samples(0) }
  })
}

test('an existing difference is found, with an interval that excludes zero', () => {
  const { ms, lowMs, highMs } = differenceOf(rounds(1, 4), 0.5)
  expect(ms).toBeCloseTo(4, 0)
  expect(lowMs).toBeGreaterThan(2)
  expect(highMs).toBeLessThan(6)
})

test('without a difference, at least nine intervals of ten contain zero, although rounds differ', () => {
  const containing = Array.from({ length: 40 }, (_, seed) => differenceOf(rounds(seed, 0), 0.5)).filter(
    ({ lowMs, highMs }) => lowMs <= 0 && highMs >= 0,
  )
  expect(containing.length).toBeGreaterThanOrEqual(36)
})

test('the same rounds give the same text', () => {
  const text = differenceText(differenceOf(rounds(1, 4), 0.99))
  expect(text).toBe(differenceText(differenceOf(rounds(1, 4), 0.99)))
  expect(text).toMatch(/^\+\d\.\d ms \(95 %: [+-]\d\.\d to \+\d\.\d\)$/)
})

test('a difference needs a sample of each kind', () => {
  expect(() => differenceOf([{ aMs: [], bMs: [1] }], 0.5)).toThrow('no samples')
})
