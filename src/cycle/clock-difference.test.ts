/** What the service reports of a client whose clock differs. */
import { beforeEach, expect, test } from 'vitest'
import { hourMs, minuteMs, silentLog } from '../base/index.js'
import { ClockDifference } from './clock-difference.js'

const skewMs = 2000
const startMs = Date.parse('2026-03-02T00:00:00Z')

let logged: object[]
let clocks: ClockDifference
beforeEach(() => {
  logged = []
  clocks = new ClockDifference({ ...silentLog, warn: (fields: object) => void logged.push(fields) })
})

/** A cycle that arrives this long after its `cycle_time`. */
function arrive(nowMs: number, differenceMs: number, cycleId = '20260302T0900'): void {
  clocks.observe({ cycleId, cycleAt: { ms: nowMs - differenceMs, fraction: 0 } }, nowMs, skewMs)
}

test('the smallest difference of the last hour is reported, and none without cycles', () => {
  expect(clocks.smallestMs(startMs)).toBeNull()
  arrive(startMs, 700)
  arrive(startMs + minuteMs, 300)
  arrive(startMs + minuteMs, 400)
  arrive(startMs + 30 * minuteMs, 90 * minuteMs)
  expect(clocks.smallestMs(startMs + 59 * minuteMs)).toBe(300)
  expect(clocks.smallestMs(startMs + hourMs)).toBe(300)
  expect(clocks.smallestMs(startMs + hourMs + minuteMs)).toBe(90 * minuteMs)
  expect(clocks.smallestMs(startMs + 2 * hourMs)).toBeNull()
})

test('a cycle within the tolerance is not refused, and its difference is negative', () => {
  arrive(startMs, -skewMs)
  expect(clocks.smallestMs(startMs)).toBe(-skewMs)
  expect(clocks.refused(startMs)).toBeNull()
  expect(logged).toEqual([])
})

test('refusals of the last hour are counted, with the last one', () => {
  arrive(startMs, -5000, 'a')
  arrive(startMs + minuteMs, -6000, 'b')
  arrive(startMs + minuteMs, 100, 'c')
  const last = { cycleId: 'b', aheadMs: 6000, at: startMs + minuteMs }
  expect(clocks.refused(startMs + minuteMs)).toEqual({ count: 2, last })
  expect(clocks.refused(startMs + hourMs)).toEqual({ count: 1, last })
  expect(clocks.refused(startMs + hourMs + minuteMs)).toBeNull()
})

test('the log has one warning in ten minutes, with the refusals since the last one', () => {
  arrive(startMs, -5000, 'a')
  for (let second = 1; second <= 100; second++) arrive(startMs + second * 1000, -4000, 'b')
  arrive(startMs + 10 * minuteMs, -7000, 'c')
  expect(logged).toEqual([
    { cycle_id: 'a', ahead_ms: 5000, refused: 1 },
    { cycle_id: 'c', ahead_ms: 7000, refused: 101 },
  ])
})

test('after the clock of the service was set back, later minutes do not count', () => {
  arrive(startMs, -5000)
  const before = startMs - 3 * hourMs
  arrive(before, 500)
  expect(clocks.smallestMs(before)).toBe(500)
  expect(clocks.refused(before)).toBeNull()
})
