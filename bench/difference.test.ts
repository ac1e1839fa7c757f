/** Differences between two kinds of cycles, on samples that are known. */
import { expect, test } from 'vitest'
import { Rng } from '../src/simulator/rng.js'
import { differenceOf, differenceText, type Round } from './difference.js'

/** Rounds of cycles around 30 ms that differ from each other more than the cycles in them; a is slower by `addMs`. */
function rounds(seed: number, addMs: number): Round[] {
  const rng = new Rng('rounds', seed)
  return Array.from({ length: 20 }, () => {
    const roundMs = 30 + 5 * rng.next()
    const samples = (more: number): number[] =>
      Array.from({ length: 40 }, () => roundMs + 3 * rng.next() + more)
    return { aMs: samples(addMs), bMs: samples(0) }
  })
}

test('a difference that is there is found, with an interval that leaves out none at all', () => {
  const { ms, lowMs, highMs } = differenceOf(rounds(1, 4), 0.5)
  expect(ms).toBeCloseTo(4, 0)
  expect(lowMs).toBeGreaterThan(2)
  expect(highMs).toBeLessThan(6)
})

test('where there is none, nine intervals of ten or more hold zero, although rounds differ', () => {
  const holding = Array.from({ length: 40 }, (_, seed) => differenceOf(rounds(seed, 0), 0.5)).filter(
    ({ lowMs, highMs }) => lowMs <= 0 && highMs >= 0,
  )
  expect(holding.length).toBeGreaterThanOrEqual(36)
})

test('the same rounds give the same words', () => {
  const text = differenceText(differenceOf(rounds(1, 4), 0.99))
  expect(text).toBe(differenceText(differenceOf(rounds(1, 4), 0.99)))
  expect(text).toMatch(/^\+\d\.\d ms \(95 %: [+-]\d\.\d to \+\d\.\d\)$/)
})

test('without a sample of each kind there is nothing to compare', () => {
  expect(() => differenceOf([{ aMs: [], bMs: [1] }], 0.5)).toThrow('no samples')
})
