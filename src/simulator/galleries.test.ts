/**
 * Names of galleries identify their simulation.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { cycleBoundaryMs } from '../contract/index.js'
import { galleriesOf, startOf, type WorldIdentity } from './galleries.js'

const identity: WorldIdentity = {
  seed: 1,
  hours: 24,
  postsPerDay: 2200,
  galleries: 3,
  imageShare: 0.25,
}

test('the start of a simulation can be read from its galleries', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 10_000_000 }), (step) => {
      const startAtMs = step * cycleBoundaryMs
      for (const { id } of galleriesOf(identity, startAtMs)) expect(startOf(identity, id)).toBe(startAtMs)
    }),
  )
})

test.each<[string, Partial<WorldIdentity>]>([
  ['another seed', { seed: 2 }],
  ['other hours', { hours: 12 }],
  ['another number of posts', { postsPerDay: 2300 }],
  ['other galleries', { galleries: 4 }],
  ['another share of images', { imageShare: 0.5 }],
])('a simulation with %s is not recognised as this one', (_what, other) => {
  const [gallery] = galleriesOf({ ...identity, ...other }, 0)
  expect(startOf(identity, gallery?.id as string)).toBeNull()
})

test('galleries of other clients belong to no simulation', () => {
  for (const id of ['dcbest', 'cat_r1', 'cat_rx', '한글_r1x2']) expect(startOf(identity, id)).toBeNull()
})

test('the names of any number of galleries differ', () => {
  const galleries = galleriesOf({ ...identity, galleries: 50 }, 0)
  expect(new Set(galleries.map(({ name }) => name)).size).toBe(50)
})
