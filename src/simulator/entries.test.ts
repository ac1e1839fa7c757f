/**
 * Galleries and numbers of posts identify their simulation.
 */
import { expect, test } from 'vitest'
import { cycleBoundaryMs, type PostKey } from '../contract/index.js'
import { entriesOf, galleriesOf, isSimulated, unknownPostNo, type WorldIdentity } from './entries.js'

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

test.each<[string, Partial<WorldIdentity>, number]>([
  ['another seed', { seed: 2 }, start],
  ['other hours', { hours: 12 }, start],
  ['another number of posts', { postsPerDay: 2300 }, start],
  ['other galleries', { galleries: 4 }, start],
  ['another share of images', { imageShare: 0.5 }, start],
  ['another start', {}, start + 288 * cycleBoundaryMs],
])('a simulation with %s has other posts', (_what, other, otherStart) => {
  const keys = new Set(keysOf(identity, start, 10).map((key) => JSON.stringify(key)))
  const others = keysOf({ ...identity, ...other }, otherStart, 10)
  expect(others.filter((key) => keys.has(JSON.stringify(key))).length).toBeLessThan(others.length / 2)
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
