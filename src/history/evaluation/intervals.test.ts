/**
 * What an interval must not depend on, and when there is none. Its bounds are compared with the independent implementation in
 * evaluate.test.ts.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { UnitSums } from './intervals.js'

interface Sums {
  readonly unit: number
  readonly numerator: number
  readonly denominator: number
}

function sumsOf(rows: readonly Sums[]): UnitSums {
  const sums = new UnitSums()
  for (const { unit, numerator, denominator } of rows) sums.add(unit, numerator, denominator)
  return sums
}

test('ratio and interval are the same in whatever order the units were added', () => {
  const rows = fc.uniqueArray(
    fc.record({ unit: fc.nat(40), numerator: fc.nat(9), denominator: fc.integer({ min: 1, max: 9 }) }),
    { selector: ({ unit }) => unit, minLength: 2, maxLength: 12 },
  )
  const orders = rows.chain((rows) =>
    fc.tuple(
      fc.constant(rows),
      fc.shuffledSubarray(rows, { minLength: rows.length, maxLength: rows.length }),
    ),
  )
  fc.assert(
    fc.property(orders, ([rows, shuffled]) => {
      expect(sumsOf(shuffled).ratio).toBe(sumsOf(rows).ratio)
      expect(sumsOf(shuffled).interval()).toEqual(sumsOf(rows).interval())
    }),
    { numRuns: 30 },
  )
})

test('without a denominator there is neither a ratio nor an interval', () => {
  const sums = sumsOf([
    { unit: 1, numerator: 2, denominator: 0 },
    { unit: 2, numerator: 0, denominator: 0 },
  ])
  expect([sums.ratio, sums.interval()]).toEqual([null, null])
})

test('an interval omits draws of units without a denominator, and has no bound that is not a number', () => {
  const sums = sumsOf([
    { unit: 1, numerator: 1, denominator: 0 },
    { unit: 2, numerator: 3, denominator: 4 },
  ])
  // Each draw that counts has unit 2 at least once.
  expect(sums.interval()).toEqual([0.75, 1])
})
