/** Bytes that arrived a short time ago. */
import { expect, test, vi } from 'vitest'
import { RecentBytes } from './recent-bytes.js'

const bytes = (length: number, value = 0): Uint8Array => new Uint8Array(length).fill(value)

test('exactly the bytes that were kept are found, also when their memory is used again', () => {
  const recent = new RecentBytes<string>(100)
  const arrived = bytes(10, 1)
  recent.keep(arrived, 'known')
  arrived.fill(9)
  expect(recent.find(bytes(10, 1))).toBe('known')
  for (const other of [arrived, bytes(9, 1), bytes(11, 1), bytes(0)])
    expect(recent.find(other)).toBeUndefined()
  recent.keep(bytes(10, 2), 'later')
  expect([recent.find(bytes(10, 1)), recent.find(bytes(10, 2))]).toEqual([undefined, 'later'])
})

test('the bytes of a length are the copy that was kept, which is found without comparing it', () => {
  const recent = new RecentBytes<string>(100)
  expect(recent.ofLength(10)).toBeUndefined()
  recent.keep(bytes(10, 1), 'known')
  const kept = recent.ofLength(10)!
  expect(kept).toEqual(bytes(10, 1))
  expect(recent.ofLength(9)).toBeUndefined()
  const compare = vi.spyOn(Buffer, 'compare')
  expect(recent.find(kept)).toBe('known')
  expect(compare).not.toHaveBeenCalled()
  compare.mockRestore()
  recent.keep(bytes(10, 2), 'later')
  expect(recent.find(kept)).toBeUndefined()
})

test('those that were found last stay, up to a number of bytes', () => {
  const recent = new RecentBytes<number>(30)
  const keptLengths = (): number[] => [9, 10, 11].filter((length) => recent.find(bytes(length)) !== undefined)
  recent.keep(bytes(9), 1)
  // Counted once.
  recent.keep(bytes(9), 1)
  recent.keep(bytes(10), 2)
  recent.keep(bytes(11), 3)
  expect(keptLengths()).toEqual([9, 10, 11])
  recent.find(bytes(9))
  recent.keep(bytes(8), 4)
  expect(keptLengths()).toEqual([9, 11])
})

test('more bytes than fit, or than are copied in a short time, are not kept', () => {
  const recent = new RecentBytes<number>(1e7)
  recent.keep(bytes(2_000_000), 1)
  expect(recent.find(bytes(2_000_000))).toBeUndefined()
  const small = new RecentBytes<number>(25)
  small.keep(bytes(20), 1)
  small.keep(bytes(26), 2)
  expect([small.find(bytes(20)), small.find(bytes(26))]).toEqual([1, undefined])
  small.keep(bytes(25), 3)
  expect([small.find(bytes(20)), small.find(bytes(25))]).toEqual([undefined, 3])
  for (const [length, expected] of [
    [2 ** 20, 1],
    [2 ** 20 + 1, undefined],
  ] as const) {
    recent.keep(bytes(length), 1)
    expect(recent.find(bytes(length))).toBe(expected)
  }
})
