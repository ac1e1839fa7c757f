/** Responses of stored cycles in memory. */
import { expect, test } from 'vitest'
import type { StoredCycle } from '../../store/index.js'
import { StoredResponses } from './stored-responses.js'

const cycle = (position: number, receivedAt = 'then'): StoredCycle => ({
  ...{ position, receivedAt, cycleId: `cycle ${position}`, cycleAtMs: 0 },
  ...{ modelVersion: 'm', weightsVersion: 'w', requestSha256: '', responseSha256: '', hash: '' },
})

/** A store whose response to each cycle has this many bytes; and the cycles that were read from it. */
function responses(bytes: number, bytesMax: number) {
  const read: string[] = []
  const readResponse = (cycleId: string): Uint8Array => {
    read.push(cycleId)
    return new Uint8Array(bytes)
  }
  return { responses: new StoredResponses({ readResponse }, bytesMax), read }
}

test('a response is read from the store once, and again only when others have taken its memory', () => {
  const { responses: kept, read } = responses(10, 25)
  expect(kept.inMemory(cycle(1))).toBeUndefined()
  const first = kept.read(cycle(1))
  expect(kept.read(cycle(1))).toBe(first)
  kept.read(cycle(2))
  // The first one was read later than the second.
  expect(kept.inMemory(cycle(1))).toBe(first)
  kept.read(cycle(3))
  expect(kept.bytes).toBe(20)
  expect([1, 2, 3].map((position) => kept.inMemory(cycle(position)) !== undefined)).toEqual([
    true,
    false,
    true,
  ])
  expect(read).toEqual(['cycle 1', 'cycle 2', 'cycle 3'])
})

test('a response that exceeds the memory is read each time', () => {
  const { responses: kept, read } = responses(26, 25)
  kept.read(cycle(1))
  kept.read(cycle(1))
  expect([read.length, kept.bytes]).toEqual([2, 0])
})

test('the response of a cycle that was replaced in the store is read again', () => {
  for (const replaced of [cycle(1, 'later'), { ...cycle(2), cycleId: 'cycle 1' }]) {
    const { responses: kept, read } = responses(10, 25)
    kept.read(cycle(1))
    expect(kept.inMemory(replaced)).toBeUndefined()
    kept.read(replaced)
    expect([read.length, kept.bytes]).toEqual([2, 10])
  }
})

test('a response that the store no longer has is not kept', () => {
  const kept = new StoredResponses({ readResponse: () => undefined }, 25)
  expect([kept.read(cycle(1)), kept.bytes]).toEqual([undefined, 0])
})
