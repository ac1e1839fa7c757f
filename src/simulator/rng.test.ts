/**
 * Seeded random numbers: streams are repeatable and independent, and stay within their bounds.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Rng } from './rng.js'

const drawn = (rng: Rng): number[] => Array.from({ length: 50 }, () => rng.next())

test('the same labels give the same numbers', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.string(), fc.integer())), (labels) => {
      expect(drawn(new Rng(...labels))).toEqual(drawn(new Rng(...labels)))
    }),
  )
})

test('the first numbers are the same on every machine', () => {
  const rng = new Rng(1, 'cycle', 0)
  expect([rng.int(0, 999), rng.int(0, 999), rng.int(0, 999)]).toMatchInlineSnapshot(`
    [
      597,
      79,
      896,
    ]
  `)
})

test('streams whose labels differ in one place differ', () => {
  expect(drawn(new Rng(1, 'a'))).not.toEqual(drawn(new Rng(2, 'a')))
  expect(drawn(new Rng(1, 'a'))).not.toEqual(drawn(new Rng(1, 'b')))
})

test('integers stay within their bounds and reach both', () => {
  const rng = new Rng('bounds')
  const values = new Set(Array.from({ length: 500 }, () => rng.int(3, 6)))
  expect([...values].sort()).toEqual([3, 4, 5, 6])
})

test('a weight of zero is never drawn, and counts have the requested mean', () => {
  const rng = new Rng('weights')
  const indexes = new Set(Array.from({ length: 500 }, () => rng.weighted([1, 0, 2])))
  expect(indexes).toEqual(new Set([0, 2]))
  const total = Array.from({ length: 4000 }, () => rng.poisson(7.6)).reduce((sum, count) => sum + count, 0)
  expect(total / 4000).toBeCloseTo(7.6, 0)
})

test('shuffling keeps every item', () => {
  fc.assert(
    fc.property(fc.array(fc.integer()), fc.integer(), (list, seed) => {
      expect(new Rng(seed).shuffled(list).sort()).toEqual([...list].sort())
    }),
  )
})
