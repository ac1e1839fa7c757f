/** Which cycles get a slot, and the responses of refused calls. */
import { expect, test } from 'vitest'
import { AdmissionSemaphore } from './admission-semaphore.js'

/** The id of a cycle without a slot. */
const another = '20250303T1000'

function createSlots(waitingMax = 1) {
  const clock = { ms: 0 }
  return {
    clock,
    slots: new AdmissionSemaphore(
      () => waitingMax,
      () => clock.ms,
    ),
  }
}

test('one cycle is in progress and waitingMax wait; the next is refused, and admitted when a slot is released', () => {
  const { slots } = createSlots()
  const slot = slots.acquire('20250303T0900')
  slots.acquire('20250303T0905')
  expect(() => slots.acquire('20250303T0910')).toThrow('too many cycles are queued')
  slot.release()
  expect(slots.canAcquire(another)).toBe(true)
  slot.release()
  slots.acquire('20250303T0910')
  expect(slots.canAcquire(another)).toBe(false)
})

test('calls with one cycle id share a slot until the last of them releases it', () => {
  const { slots } = createSlots(1)
  const shared = [slots.acquire('20250303T0900'), slots.acquire('20250303T0900')]
  slots.acquire('20250303T0905')
  expect(slots.canAcquire('20250303T0900')).toBe(true)
  expect(slots.canAcquire(another)).toBe(false)
  shared[0]?.release()
  expect(slots.canAcquire(another)).toBe(false)
  shared[1]?.release()
  expect(slots.canAcquire(another)).toBe(true)
})

test('Retry-After follows how long cycles take', () => {
  const { clock, slots } = createSlots(3)
  for (let i = 0; i < 5; i++) {
    const slot = slots.acquire('20250303T0900')
    clock.ms += 700
    slot.release()
  }
  for (let i = 0; i < 4; i++) slots.acquire(`20250303T091${i}`)
  const seconds = Array.from({ length: 6 }, () => slots.refusal().retryAfterS)
  expect(seconds).toEqual([3, 3, 3, 3, 4, 5])
})
