/**
 * Galleries and numbers of posts identify their simulation.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { cycleBoundaryMs, type PostKey } from '../contract/index.js'
import {
  entriesOf,
  galleriesOf,
  isSimulated,
  startsOf,
  unknownPostNo,
  type WorldIdentity,
} from './entries.js'

const identity: WorldIdentity = {
  seed: 1,
  hours: 24,
  postsPerDay: 2200,
  galleries: 3,
  imageShare: 0.25,
}
const start = Date.UTC(2026, 0, 5)

function keysOf(of: WorldIdentity, startAtMs: number, cycleCount: number): PostKey[] {
  return Array.from({ length: cycleCount }, (_, index) => entriesOf(of, startAtMs, index))
    .flat()
    .map(({ gallery, postNo }) => ({ gall_id: gallery.id, post_no: postNo }))
}

test('the start of a simulation can be found from any dozen of its posts', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 10_000 }), fc.integer({ min: 0, max: 200 }), (step, skipped) => {
      const startAtMs = start + step * cycleBoundaryMs
      const posts = keysOf(identity, startAtMs, 40).slice(skipped).slice(0, 12)
      fc.pre(posts.length === 12)
      expect(startsOf(identity, posts)).toEqual([startAtMs])
    }),
    { numRuns: 20 },
  )
})

test('two simulations of the same options are both found, the later one first', () => {
  const later = start + 288 * cycleBoundaryMs
  const posts = [...keysOf(identity, start, 5), ...keysOf(identity, later, 5)]
  expect(startsOf(identity, posts)).toEqual([later, start])
})

test.each<[string, Partial<WorldIdentity>]>([
  ['another seed', { seed: 2 }],
  ['other hours', { hours: 12 }],
  ['another number of posts', { postsPerDay: 2300 }],
  ['other galleries', { galleries: 4 }],
  ['another share of images', { imageShare: 0.5 }],
])('a simulation with %s is not recognised as this one', (_what, other) => {
  expect(startsOf(identity, keysOf({ ...identity, ...other }, start, 10))).toEqual([])
})

test('posts are simulated by gallery and number, those of readings without a post included', () => {
  for (const key of keysOf(identity, start, 10)) expect(isSimulated(key)).toBe(true)
  expect(isSimulated({ gall_id: 'cat', post_no: unknownPostNo(start) })).toBe(true)
  expect(isSimulated({ gall_id: 'dcbest', post_no: unknownPostNo(start) })).toBe(false)
  expect(isSimulated({ gall_id: 'programming', post_no: 28_123_456 })).toBe(false)
})

test('numbers rise from cycle to cycle, and none occurs twice', () => {
  const cycles = Array.from({ length: 288 }, (_, index) =>
    entriesOf({ ...identity, postsPerDay: 4500 }, start, index).map(({ postNo }) => postNo),
  ).filter((numbers) => numbers.length > 0)
  for (const [index, numbers] of cycles.entries()) {
    expect(new Set(numbers).size).toBe(numbers.length)
    expect(Math.min(...numbers)).toBeGreaterThan(Math.max(0, ...(cycles[index - 1] ?? [])))
  }
})

test('any number of galleries have different names of at most fourteen characters', () => {
  const ids = galleriesOf({ galleries: 50 }).map(({ id }) => id)
  expect(new Set(ids).size).toBe(50)
  for (const id of ids) expect(id).toMatch(/^[a-z_]{3,12}\d?$/)
})
