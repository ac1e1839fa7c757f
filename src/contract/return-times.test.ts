/**
 * Who was refused is told a time at which there is room, and not the same time as all others.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ReturnTimes } from './return-times.js'

function createTimes(workMs: number, secondsMax = 10) {
  const clock = { ms: 0 }
  const times = new ReturnTimes(secondsMax, () => clock.ms)
  times.note(workMs)
  return { clock, times }
}

test('callers refused at one instant are told different seconds, as many each as a line takes at once', () => {
  const { times } = createTimes(10)
  const told = (count: number): number[] => Array.from({ length: count }, () => times.next(5, 5))
  expect(told(12)).toEqual([1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3])
  const slow = createTimes(40).times
  expect(Array.from({ length: 7 }, () => slow.next(5, 5))).toEqual([1, 1, 1, 1, 1, 2, 2])
})

test('callers refused one after the other may all come after a second', () => {
  const { clock, times } = createTimes(10)
  for (let i = 0; i < 100; i++) {
    clock.ms += 10
    expect(times.next(5, 5)).toBe(1)
  }
})

test('behind a longer line the time is longer', () => {
  expect(createTimes(300).times.next(2, 5)).toBe(1)
  expect(createTimes(300).times.next(16, 17)).toBe(5)
})

test('when all time is promised, and behind a line without end, it is the longest', () => {
  const { times } = createTimes(900, 4)
  expect(Array.from({ length: 5 }, () => times.next(1, 1))).toEqual([1, 2, 3, 4, 4])
  expect(createTimes(10).times.next(1e9, 5)).toBe(10)
})

test('what was promised for a time that has passed is forgotten', () => {
  const { clock, times } = createTimes(900, 4)
  for (let i = 0; i < 5; i++) times.next(1, 1)
  clock.ms += 100_000
  expect(times.next(1, 1)).toBe(1)
})

test('whatever is refused when, those told to come at one moment find room in a line of that length', () => {
  const refusals = fc.array(fc.tuple(fc.integer({ min: 0, max: 400 }), fc.integer({ min: 0, max: 30 })))
  const room = fc.integer({ min: 1, max: 20 })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2000 }), room, refusals, (workMs, roomCount, steps) => {
      const { clock, times } = createTimes(workMs)
      const promised = new Map<number, number>()
      for (const [pauseMs, waitingCount] of steps) {
        clock.ms += pauseMs
        const seconds = times.next(waitingCount, roomCount)
        expect(seconds).toBeGreaterThanOrEqual(1)
        expect(seconds).toBeLessThanOrEqual(10)
        if (seconds === 10) continue
        const stretch = Math.floor((clock.ms + seconds * 1000) / 50)
        promised.set(stretch, (promised.get(stretch) ?? 0) + 1)
      }
      for (const count of promised.values())
        expect(count * workMs).toBeLessThanOrEqual(Math.max(roomCount * workMs, 0) + 50)
    }),
  )
})
