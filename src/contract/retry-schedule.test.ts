/** Retry-After: refused callers get a time at which there is room, spread over the seconds to come. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { RetrySchedule } from './retry-schedule.js'

function createSchedule(workMs: number, secondsMax = 10) {
  const clock = { ms: 0 }
  const schedule = new RetrySchedule(secondsMax, () => clock.ms)
  schedule.recordWork(workMs)
  return { clock, schedule }
}

test('callers refused at one instant are spread over seconds, each with as many callers as there are slots', () => {
  const { schedule } = createSchedule(10)
  const reserved = (count: number): number[] => Array.from({ length: count }, () => schedule.reserve(5, 5))
  expect(reserved(12)).toEqual([1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3])
  const slow = createSchedule(40).schedule
  expect(Array.from({ length: 7 }, () => slow.reserve(5, 5))).toEqual([1, 1, 1, 1, 1, 2, 2])
})

test('callers refused one after the other may all retry after a second', () => {
  const { clock, schedule } = createSchedule(10)
  for (let i = 0; i < 100; i++) {
    clock.ms += 10
    expect(schedule.reserve(5, 5)).toBe(1)
  }
})

test('the time grows with the amount of waiting work', () => {
  expect(createSchedule(300).schedule.reserve(2, 5)).toBe(1)
  expect(createSchedule(300).schedule.reserve(16, 17)).toBe(5)
})

test('the time is the maximum when every slot is reserved, and when too much work waits', () => {
  const { schedule } = createSchedule(900, 4)
  expect(Array.from({ length: 5 }, () => schedule.reserve(1, 1))).toEqual([1, 2, 3, 4, 4])
  expect(createSchedule(10).schedule.reserve(1e9, 5)).toBe(10)
})

test('reservations of the past are dropped', () => {
  const { clock, schedule } = createSchedule(900, 4)
  for (let i = 0; i < 5; i++) schedule.reserve(1, 1)
  clock.ms += 100_000
  expect(schedule.reserve(1, 1)).toBe(1)
})

test('no more callers retry in one second than there are slots', () => {
  const refusals = fc.array(fc.tuple(fc.integer({ min: 0, max: 400 }), fc.integer({ min: 0, max: 30 })))
  const room = fc.integer({ min: 1, max: 20 })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2000 }), room, refusals, (workMs, slotCount, steps) => {
      const { clock, schedule } = createSchedule(workMs)
      const reserved = new Map<number, number>()
      for (const [pauseMs, waitingCount] of steps) {
        clock.ms += pauseMs
        const seconds = schedule.reserve(waitingCount, slotCount)
        expect(seconds).toBeGreaterThanOrEqual(1)
        expect(seconds).toBeLessThanOrEqual(10)
        if (seconds === 10) continue
        const interval = Math.floor((clock.ms + seconds * 1000) / 50)
        reserved.set(interval, (reserved.get(interval) ?? 0) + 1)
      }
      for (const count of reserved.values())
        expect(count * workMs).toBeLessThanOrEqual(Math.max(slotCount * workMs, 0) + 50)
    }),
  )
})
