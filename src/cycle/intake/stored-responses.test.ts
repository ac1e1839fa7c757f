/** Responses of stored cycles in memory. */
import { expect, test } from 'vitest'
import type { StoredCycle } from '../../store/index.js'
import { StoredResponses } from './stored-responses.js'

const cycle = (position: number): StoredCycle => ({
  position,
  receivedAt: 'then',
  cycleId: `cycle ${position}`,
  cycleAtMs: 0,
  modelVersion: 'm',
  weightsVersion: 'w',
})

const bytes = (length: number): Uint8Array => new Uint8Array(length)

/** The positions, up to 4, of the cycles in memory. */
const held = (kept: StoredResponses): number[] =>
  [1, 2, 3, 4].filter((position) => kept.find(`cycle ${position}`) !== undefined)

test('the responses that were read last stay, up to a number of bytes', () => {
  const kept = new StoredResponses(25)
  const first = bytes(10)
  kept.keep(cycle(1), first)
  kept.keep(cycle(2), bytes(10))
  // The first one is read later than the second.
  expect(kept.find('cycle 1')).toEqual({ cycle: cycle(1), response: first })
  kept.keep(cycle(3), bytes(10))
  expect([kept.bytes, held(kept)]).toEqual([20, [1, 3]])
})

test('the memory may be full to its last byte', () => {
  const kept = new StoredResponses(25)
  kept.keep(cycle(1), bytes(10))
  kept.keep(cycle(2), bytes(15))
  expect([kept.bytes, held(kept)]).toEqual([25, [1, 2]])
  kept.keep(cycle(2), bytes(16))
  expect([kept.bytes, held(kept)]).toEqual([16, [2]])
})

test('a response that exceeds the memory is not kept, and takes nothing from others', () => {
  const kept = new StoredResponses(25)
  kept.keep(cycle(1), bytes(20))
  kept.keep(cycle(2), bytes(26))
  expect([kept.bytes, held(kept)]).toEqual([20, [1]])
})

test('the newest response stays until the next one, whatever is read meanwhile', () => {
  const kept = new StoredResponses(25)
  const newest = bytes(100)
  kept.keepNewest({ cycle: cycle(1), response: newest })
  expect(kept.bytes).toBe(0)
  for (const position of [2, 3, 4]) kept.keep(cycle(position), bytes(10))
  expect(kept.find('cycle 1')).toEqual({ cycle: cycle(1), response: newest })
  expect([kept.bytes, held(kept)]).toEqual([20, [1, 3, 4]])
  kept.keepNewest({ cycle: cycle(2), response: newest })
  expect(held(kept)).toEqual([2, 3, 4])
  kept.dropUpTo(4)
  expect(held(kept)).toEqual([])
})

test('responses of cycles that expire are dropped and not kept again, and those of later cycles stay', () => {
  const kept = new StoredResponses(100)
  for (const position of [3, 1, 2]) kept.keep(cycle(position), bytes(10))
  kept.keepNewest({ cycle: cycle(4), response: bytes(10) })
  kept.expireUpTo(2)
  expect([kept.bytes, held(kept)]).toEqual([10, [3, 4]])
  for (const position of [1, 2, 3]) kept.keep(cycle(position), bytes(10))
  expect([kept.bytes, held(kept)]).toEqual([10, [3, 4]])
  kept.expireUpTo(4)
  expect([kept.bytes, held(kept)]).toEqual([0, []])
})

test('after all responses were dropped, those of any cycle are kept', () => {
  const kept = new StoredResponses(100)
  kept.keep(cycle(1), bytes(10))
  kept.keepNewest({ cycle: cycle(2), response: bytes(10) })
  kept.dropUpTo(4)
  expect([kept.bytes, held(kept)]).toEqual([0, []])
  kept.keep(cycle(1), bytes(10))
  expect([kept.bytes, held(kept)]).toEqual([10, [1]])
})

test('a response that is kept again counts once, and nothing is left when all are dropped', () => {
  const kept = new StoredResponses(25)
  for (const length of [10, 12]) kept.keep(cycle(1), bytes(length))
  expect(kept.bytes).toBe(12)
  kept.dropUpTo(4)
  expect([kept.bytes, held(kept)]).toEqual([0, []])
})
