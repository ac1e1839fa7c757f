/**
 * The cycles of the bench have the properties of their scenario.
 */
import { describe, expect, test } from 'vitest'
import type { CycleRequest } from '../src/contract/index.js'
import { decodeCycle } from '../src/codec/index.js'
import { cycleScenarios } from './scenarios.js'
import { rampCycleCount, worldCycles, type WorldCycle, type WorldShape } from './world.js'

const shape: WorldShape = { pending: 52, turnover: 7, snapshots: true, bodyChars: 300 }

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

describe('sizes', () => {
  test('a request has exactly the given size', () => {
    const cycles = take(rampCycleCount + 3, { ...shape, requestBytes: 200_001 })
    for (const { request } of cycles.slice(rampCycleCount)) expect(request.length).toBe(200_001)
  })

  test('a full cycle has about 5.5 MB, a typical one 0.4', () => {
    const size = (of: WorldShape): number => take(rampCycleCount + 1, of).at(-1)!.request.length / 1e6
    expect(size(cycleScenarios.typical.shape)).toBeCloseTo(0.4, 1)
    expect(Math.abs(size(cycleScenarios.full.shape) - 5.5)).toBeLessThan(0.3)
  })
})
