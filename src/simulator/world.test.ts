/**
 * The world: the same options give the same requests, and every request follows the contract.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkCycle, cycleBoundaryMs, cycleIdOf, parseInstant } from '../contract/index.js'
import { keyOf } from './ledger.js'
import type { WorldIdentity } from './entries.js'
import { World, type CyclePlan } from './world.js'

const start = Date.UTC(2026, 0, 5)
const identity: WorldIdentity = {
  seed: 1,
  hours: 26,
  postsPerDay: 2200,
  galleries: 5,
  imageShare: 0.5,
}

function plansOf(count: number, over: Partial<WorldIdentity> = {}, startAtMs = start): CyclePlan[] {
  const world = new World({ ...identity, ...over }, startAtMs)
  return Array.from({ length: count }, () => world.nextCycle())
}

const dayAndMore = plansOf(26 * 12)
const atMs = (text: string): number => parseInstant(text)?.ms ?? NaN

test('the same options and start give the same plans, byte for byte', () => {
  fc.assert(
    fc.property(fc.integer(), fc.integer({ min: 0, max: 1000 }), (seed, step) => {
      const startAtMs = start + step * cycleBoundaryMs
      const [one, other] = [1, 2].map(() => JSON.stringify(plansOf(6, { seed }, startAtMs)))
      expect(one).toBe(other)
    }),
    { numRuns: 20 },
  )
})

test('another seed and another start give other posts', () => {
  const titles = (plans: CyclePlan[]): string =>
    plans.flatMap((plan) => plan.request.candidates.map((candidate) => candidate.title)).join()
  expect(titles(plansOf(6, { seed: 2 }))).not.toBe(titles(plansOf(6)))
  expect(titles(plansOf(6, {}, start + cycleBoundaryMs))).not.toBe(titles(plansOf(6)))
})

test('every request follows the contract in shape and in meaning', () => {
  for (const { request, cycleAtMs } of dayAndMore) {
    expect(checkCycle(request)?.fields).toBeUndefined()
    expect(request.cycle_id).toBe(cycleIdOf(cycleAtMs))
    expect(atMs(request.cycle_time)).toBe(cycleAtMs)
    const times = [
      ...request.engagement.map((row) => row.observed_at),
      ...request.candidate_scores.map((row) => row.snapshot_at),
      ...request.removals.map((row) => row.decided_at),
    ]
    expect(times.filter((time) => !(atMs(time) <= cycleAtMs))).toEqual([])
  }
})

test('cycles follow each other in steps of five minutes', () => {
  expect(dayAndMore.map((plan) => plan.cycleAtMs)).toEqual(
    dayAndMore.map((_plan, index) => start + (index + 1) * cycleBoundaryMs),
  )
})

test('each post enters once, leaves once, and has at most one reading a cycle while it is pending', () => {
  const entered = new Set<string>()
  const pending = new Set<string>()
  let skippedCount = 0
  for (const { request } of dayAndMore) {
    for (const candidate of request.candidates) {
      expect(entered.has(keyOf(candidate))).toBe(false)
      entered.add(keyOf(candidate))
      pending.add(keyOf(candidate))
    }
    for (const removal of request.removals) expect(pending.delete(keyOf(removal))).toBe(true)
    const keys = new Set(request.engagement.map(keyOf))
    expect(keys.size).toBe(request.engagement.length)
    skippedCount += [...pending].filter((key) => !keys.has(key)).length
    const unknown = [...keys].filter((key) => !pending.has(key))
    for (const key of unknown) expect(entered.has(key)).toBe(false)
    expect(unknown.length).toBeLessThanOrEqual(1)
  }
  expect(skippedCount).toBeGreaterThan(0)
  expect(skippedCount).toBeLessThan(dayAndMore.length / 4)
})

test('a day has about the requested number of posts, most of them not at night', () => {
  const hourly = new Map<number, number>()
  for (const { request, cycleAtMs } of dayAndMore.slice(0, 288)) {
    const hour = Math.floor(((cycleAtMs - 1) / 3_600_000 + 9) % 24)
    hourly.set(hour, (hourly.get(hour) ?? 0) + request.candidates.length)
  }
  const total = [...hourly.values()].reduce((sum, count) => sum + count, 0)
  expect(total).toBeGreaterThan(2000)
  expect(total).toBeLessThan(2400)
  expect(hourly.get(21)).toBeGreaterThan(2 * hourly.get(4)!)
})

test('every special case of the contract occurs within a day', () => {
  const candidates = dayAndMore.flatMap((plan) => plan.request.candidates)
  const engagement = dayAndMore.flatMap((plan) => plan.request.engagement)
  const removals = dayAndMore.flatMap((plan) => plan.request.removals)
  expect(candidates.some((candidate) => candidate.title.trim() === '')).toBe(true)
  expect(candidates.some((candidate) => candidate.created_at === null)).toBe(true)
  expect(candidates.some((candidate) => candidate.extracted_at === null)).toBe(true)
  expect(candidates.some((candidate) => candidate.manual_flag === 1)).toBe(true)
  expect(candidates.some((candidate) => (candidate.body_html?.length ?? 0) > 3000)).toBe(true)
  expect(new Set(engagement.map((row) => row.status))).toEqual(new Set(['ok', 'missing', 'nomap']))
  expect(engagement.some((row) => row.status === 'ok' && row.views === null)).toBe(true)
  expect(new Set(removals.map((removal) => removal.reason))).toEqual(
    new Set(['saved', 'hidden', 'deleted', 'aged_out']),
  )
  expect(dayAndMore.flatMap((plan) => plan.placed).length).toBe(
    removals.filter((removal) => removal.reason === 'saved').length,
  )
})

test('images are sent for announced positions of posts that have entered, some before their post', () => {
  const positions = new Map<string, readonly number[]>()
  const sent = new Set<string>()
  let gapCount = 0
  let aheadCount = 0
  for (const { request, uploadsBefore, uploadsAfter, uploadsAgain } of dayAndMore) {
    for (const candidate of request.candidates) {
      positions.set(keyOf(candidate), candidate.image_positions ?? [])
      if ((candidate.image_positions?.length ?? Infinity) < candidate.images_in_post) gapCount++
    }
    for (const upload of [...uploadsBefore, ...uploadsAfter]) {
      const key = keyOf({ gall_id: upload.gallId, post_no: upload.postNo })
      expect(positions.get(key)).toContain(upload.position)
      expect(sent.has(upload.comment)).toBe(false)
      sent.add(upload.comment)
    }
    for (const upload of uploadsAgain) expect(sent.has(upload.comment)).toBe(true)
    aheadCount += uploadsBefore.length
  }
  expect(gapCount).toBeGreaterThan(0)
  expect(aheadCount).toBeGreaterThan(0)
  expect(sent.size).toBeGreaterThan(aheadCount)
})

test('without a share of images there are no uploads', () => {
  const plans = plansOf(60, { imageShare: 0 })
  expect(plans.flatMap((plan) => [...plan.uploadsBefore, ...plan.uploadsAfter])).toEqual([])
})
