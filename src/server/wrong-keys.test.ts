/**
 * What wrong keys cost those who try them. The minute passes by a clock of the test; only what waits waits really.
 */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { clientCountMax, heldMax, heldPerClientMax, WrongKeys, type Verdict } from './wrong-keys.js'

const perMinuteMax = 60
const delayMs = 1000
let nowMs: number
let slow: string[]
let delay: number

beforeEach(() => {
  vi.useFakeTimers()
  nowMs = 5
  slow = []
  delay = delayMs
})
afterEach(() => vi.useRealTimers())

function createKeys(): WrongKeys {
  return new WrongKeys({
    limits: () => ({ wrongKeysPerMinuteMax: perMinuteMax, wrongKeyDelayMs: delay }),
    clock: () => nowMs,
    onSlow: (client) => slow.push(client),
  })
}

function note(keys: WrongKeys, client: string, count: number): Verdict[] {
  return Array.from({ length: count }, () => keys.note(client))
}

const isWait = (verdict: Verdict): boolean => verdict.kind === 'wait'

function overOf(verdict: Verdict): Promise<void> {
  if (verdict.kind !== 'wait') throw new Error(`it does not wait: ${verdict.kind}`)
  return verdict.over
}

test('the first of a minute are answered at once, later ones wait, and the next minute begins afresh', async () => {
  const keys = createKeys()
  expect(note(keys, 'a', perMinuteMax).every((verdict) => verdict.kind === 'now')).toBe(true)
  const late = keys.note('a')
  expect(isWait(late)).toBe(true)
  let answered = false
  void overOf(late).then(() => (answered = true))
  await vi.advanceTimersByTimeAsync(delayMs - 1)
  expect(answered).toBe(false)
  await vi.advanceTimersByTimeAsync(1)
  expect(answered).toBe(true)
  nowMs += 59_999
  expect(isWait(keys.note('a'))).toBe(true)
  nowMs += 1
  expect(keys.note('a')).toEqual({ kind: 'now' })
})

test('one client does not slow another', () => {
  const keys = createKeys()
  note(keys, 'a', perMinuteMax + 5)
  expect(keys.note('b')).toEqual({ kind: 'now' })
})

test('so many answers of a client wait, one more is cut, and each that ends makes room', async () => {
  const keys = createKeys()
  note(keys, 'a', perMinuteMax)
  expect(note(keys, 'a', heldPerClientMax).every(isWait)).toBe(true)
  expect(note(keys, 'a', 3)).toEqual(Array(3).fill({ kind: 'cut' }))
  await vi.advanceTimersByTimeAsync(delayMs)
  expect(keys.load.heldCount).toBe(0)
  expect(isWait(keys.note('a'))).toBe(true)
})

test('so many answers of all clients wait', () => {
  const keys = createKeys()
  const clients = Array.from({ length: heldMax / heldPerClientMax }, (_, index) => `client ${index}`)
  for (const client of clients) note(keys, client, perMinuteMax + heldPerClientMax)
  expect(keys.load.heldCount).toBe(heldMax)
  note(keys, 'another', perMinuteMax)
  expect(keys.note('another')).toEqual({ kind: 'cut' })
})

test('memory is bounded: the client that was seen longest ago is forgotten', () => {
  const keys = createKeys()
  note(keys, 'first', perMinuteMax)
  note(keys, 'second', perMinuteMax)
  for (let index = 0; index < clientCountMax - 2; index++) keys.note(`client ${index}`)
  // Seen again, so the second is the oldest now.
  expect(isWait(keys.note('first'))).toBe(true)
  keys.note('one more')
  expect(keys.load.clientCount).toBe(clientCountMax)
  expect(keys.note('second')).toEqual({ kind: 'now' })
  expect(isWait(keys.note('first'))).toBe(true)
})

test('a forgotten client whose answers wait still gives back what it holds of all', async () => {
  const keys = createKeys()
  note(keys, 'a', perMinuteMax + 3)
  for (let index = 0; index < clientCountMax; index++) keys.note(`client ${index}`)
  expect(keys.load.heldCount).toBe(3)
  await vi.advanceTimersByTimeAsync(delayMs)
  expect(keys.load.heldCount).toBe(0)
})

test('a client is told of once in a minute', () => {
  const keys = createKeys()
  note(keys, 'a', perMinuteMax + 20)
  expect(slow).toEqual(['a'])
  nowMs += 60_000
  note(keys, 'a', perMinuteMax + 20)
  expect(slow).toEqual(['a', 'a'])
})

test('with a delay of 0 nothing waits, and a limit that changes counts from the next key on', () => {
  const keys = createKeys()
  delay = 0
  expect(note(keys, 'a', 2 * perMinuteMax).every((verdict) => verdict.kind === 'now')).toBe(true)
  delay = delayMs
  expect(isWait(keys.note('a'))).toBe(true)
})

test('closing lets go of what waits, and nothing waits any more', async () => {
  const keys = createKeys()
  const waiting = note(keys, 'a', perMinuteMax + 3).slice(perMinuteMax)
  keys.close()
  await Promise.all(waiting.map(overOf))
  expect(keys.note('a')).toEqual({ kind: 'now' })
  expect(vi.getTimerCount()).toBe(0)
})
