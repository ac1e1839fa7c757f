/**
 * Generated cycles have the properties of their shape.
 */
import { expect, test } from 'vitest'
import type { CycleRequest } from '../../src/contract/index.js'
import { decodeCycle } from '../../src/codec/index.js'
import { rampCycleCount, World, worldCycles, type WorldCycle, type WorldShape } from './world.js'

const shape: WorldShape = { pending: 52, turnover: 7, snapshotShare: 1, bodyChars: 300 }

function take(count: number, of: WorldShape = shape): WorldCycle[] {
  const world = worldCycles(of)
  return Array.from({ length: count }, () => world.next().value)
}

const requestOf = (body: Buffer): CycleRequest => JSON.parse(body.toString()) as CycleRequest

test('the same shape and seed give the same bytes', () => {
  const bodies = (): string[] => take(8).map(({ request }) => request.toString())
  expect(bodies()).toEqual(bodies())
})

test('every body is a valid cycle with a different id', () => {
  const cycles = take(12)
  for (const { request, cycleId } of cycles) expect(decodeCycle(request).cycleId).toBe(cycleId)
  expect(new Set(cycles.map(({ cycleId }) => cycleId)).size).toBe(cycles.length)
})

test('after the ramp the pool is full, and as many posts enter as leave', () => {
  for (const { counts } of take(12).slice(rampCycleCount)) {
    expect(counts).toEqual({ candidates: 7, engagement: 52, candidate_scores: 52, removals: 7 })
  }
  expect(take(rampCycleCount).at(-1)?.counts.engagement).toBe(52)
})

test('exactly the pending posts have a reading, and each post is removed once', () => {
  const pending = new Set<number>()
  for (const { request } of take(15)) {
    const { candidates, engagement, removals } = requestOf(request)
    for (const { post_no } of candidates) pending.add(post_no)
    for (const { post_no } of removals) expect(pending.delete(post_no)).toBe(true)
    expect(engagement.map(({ post_no }) => post_no)).toEqual([...pending])
  }
})

test('a request has exactly the given size', () => {
  const cycles = take(rampCycleCount + 3, { ...shape, requestBytes: 200_001 })
  for (const { request } of cycles.slice(rampCycleCount)) expect(request.length).toBe(200_001)
})

test('with gaps, titles, readings, posts and snapshots are missing in their shares', () => {
  const gaps = { titleShare: 0.2, readingShare: 0.3, postShare: 0.1 }
  const world = new World({ ...shape, pending: 400, turnover: 100, snapshotShare: 0.5, gaps }, 1)
  const requests = Array.from({ length: 20 }, () => world.nextRequest()).slice(rampCycleCount)
  const candidates = requests.flatMap((request) => request.candidates)
  const rows = requests.flatMap(({ engagement }) => engagement)
  const snapshotCount = requests.flatMap((request) => request.candidate_scores).length
  const share = (count: number, all: number): number => Math.round((count / all) * 10) / 10
  expect(share(candidates.filter(({ title }) => title === '').length, candidates.length)).toBe(0.2)
  expect(share(rows.length, 400 * requests.length)).toBe(0.7)
  expect(share(rows.filter(({ status }) => status === 'missing').length, rows.length)).toBe(0.1)
  expect(share(snapshotCount, rows.length)).toBe(0.5)
})
