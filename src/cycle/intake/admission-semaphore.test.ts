/** Which cycles get a slot, and the responses of refused calls. */
import { expect, onTestFinished, test, vi } from 'vitest'
import { AdmissionSemaphore, type CallSlot } from './admission-semaphore.js'

/** The id of a cycle without a slot. */
const another = '20250303T1000'

function acquired(slots: AdmissionSemaphore, cycleId: string): CallSlot {
  const slot = slots.open()
  slot.acquire(cycleId)
  return slot
}

test('one cycle is in progress and waitingMax wait; the next is refused, and admitted when a slot is released', () => {
  const slots = new AdmissionSemaphore(() => 1)
  const slot = acquired(slots, '20250303T0900')
  acquired(slots, '20250303T0905')
  expect(() => acquired(slots, '20250303T0910')).toThrow('too many cycles are queued')
  slot.release()
  expect(slots.canAcquire(another)).toBe(true)
  slot.release()
  acquired(slots, '20250303T0910')
  expect(slots.canAcquire(another)).toBe(false)
})

test('calls with one cycle id share a slot until the last of them releases it', () => {
  const slots = new AdmissionSemaphore(() => 1)
  const shared = [acquired(slots, '20250303T0900'), acquired(slots, '20250303T0900')]
  acquired(slots, '20250303T0905')
  expect(slots.canAcquire('20250303T0900')).toBe(true)
  expect(slots.canAcquire(another)).toBe(false)
  shared[0]?.release()
  expect(slots.canAcquire(another)).toBe(false)
  shared[1]?.release()
  expect(slots.canAcquire(another)).toBe(true)
})

test('Retry-After follows how long cycles take', () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const slots = new AdmissionSemaphore(() => 3)
  for (let i = 0; i < 5; i++) {
    const slot = acquired(slots, '20250303T0900')
    vi.advanceTimersByTime(700)
    slot.release()
  }
  for (let i = 0; i < 4; i++) acquired(slots, `20250303T091${i}`)
  const seconds = Array.from({ length: 6 }, () => slots.refusal().retryAfterS)
  expect(seconds).toEqual([3, 3, 3, 3, 4, 5])
})

test('the time that a cycle waits for the one before it does not count as work', () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const slots = new AdmissionSemaphore(() => 3)
  for (const slot of [0, 1, 2, 3].map((i) => acquired(slots, `20250303T090${i}`))) {
    vi.advanceTimersByTime(700)
    slot.release()
  }
  for (let i = 0; i < 4; i++) acquired(slots, `20250303T091${i}`)
  expect(Array.from({ length: 6 }, () => slots.refusal().retryAfterS)).toEqual([3, 3, 3, 3, 4, 5])
})

test('a call holds one slot: that of the cycle which it named last', () => {
  const slots = new AdmissionSemaphore(() => 0)
  const slot = slots.open()
  expect(slot.isHeld).toBe(false)
  slot.acquire('20250303T0900')
  slot.acquire('20250303T0905')
  expect([slot.isHeld, slots.heldCount, slots.canAcquire('20250303T0905')]).toEqual([true, 1, true])
  expect(() => acquired(slots, '20250303T0900')).toThrow('too many cycles are queued')
  slot.release()
  slot.release()
  expect([slot.isHeld, slots.heldCount]).toEqual([false, 0])
})
