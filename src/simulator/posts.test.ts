/**
 * Simulated posts: counters that only grow and level off, and removals that the contract allows.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hourMs } from '../base/index.js'
import { ageFilterMs, countersAt, drawDeparture, drawGrowth } from './posts.js'
import { Rng } from './rng.js'

const createdAtMs = Date.UTC(2026, 0, 5)

test('no counter ever decreases, at any age', () => {
  fc.assert(
    fc.property(
      fc.integer(),
      fc.array(fc.integer({ min: -hourMs, max: 72 * hourMs }), { minLength: 2 }),
      (seed, ages) => {
        const growth = drawGrowth(new Rng(seed), createdAtMs)
        const readings = ages.sort((a, b) => a - b).map((age) => countersAt(growth, createdAtMs + age))
        for (const [index, reading] of readings.entries()) {
          for (const name of ['views', 'up', 'down', 'comment_cnt', 'rtb_vote'] as const) {
            expect(Number.isSafeInteger(reading[name])).toBe(true)
            expect(reading[name]).toBeGreaterThanOrEqual(index === 0 ? 0 : (readings[index - 1]?.[name] ?? 0))
          }
        }
      },
    ),
  )
})

test('views level off: the second day adds fewer than the first', () => {
  const growth = drawGrowth(new Rng('views'), createdAtMs)
  const [first, second] = [24, 48].map((age) => countersAt(growth, createdAtMs + age * hourMs).views)
  expect(second! - first!).toBeLessThan(first! / 2)
})

test('a post leaves after it entered and no later than the age filter, and only saved posts have a tier', () => {
  fc.assert(
    fc.property(fc.integer(), fc.integer({ min: 0, max: 90 }), (seed, minutes) => {
      const rng = new Rng(seed)
      const entered = createdAtMs + minutes * 60_000
      const departure = drawDeparture(rng, drawGrowth(rng, createdAtMs), entered)
      expect(departure.atMs).toBeGreaterThan(entered)
      expect(departure.atMs).toBeLessThanOrEqual(createdAtMs + ageFilterMs)
      expect(departure.tier !== undefined).toBe(departure.reason === 'saved')
    }),
  )
})

test('operators are more likely to save posts of high quality', () => {
  const rng = new Rng('saving')
  const growths = Array.from({ length: 3000 }, () => drawGrowth(rng, createdAtMs))
  const saved = growths.filter(
    (growth) => drawDeparture(rng, growth, createdAtMs + 60_000).reason === 'saved',
  )
  const mean = (list: typeof growths): number =>
    list.reduce((sum, growth) => sum + growth.quality, 0) / list.length
  expect(mean(saved)).toBeGreaterThan(1.5 * mean(growths))
})
