/** Buffers that serve again. */
import { expect, test, vi } from 'vitest'
import { SpareBuffers } from './spare-buffers.js'

const mebibyte = 1024 * 1024

test('a buffer given back serves the next body that fits, and only one', () => {
  const spare = new SpareBuffers()
  const first = spare.take(mebibyte)
  spare.give(first.subarray(0, 5))
  const again = spare.take(mebibyte / 2)
  expect(again.buffer).toBe(first.buffer)
  expect(spare.take(mebibyte / 2).buffer).not.toBe(first.buffer)
})

test('a body that does not fit gets a buffer of its own', () => {
  const spare = new SpareBuffers()
  spare.give(spare.take(mebibyte))
  expect(spare.take(2 * mebibyte)).toHaveLength(2 * mebibyte)
})

test('a body gets the smallest that suffices, and small ones are not kept', () => {
  const spare = new SpareBuffers()
  const buffers = [1, 3, 2].map((size) => spare.take(size * mebibyte))
  for (const buffer of [...buffers, Buffer.alloc(1000)]) spare.give(buffer)
  const sizes = [2, 1, 1, 1].map((size) => spare.take(size * mebibyte - 10).length)
  expect(sizes).toEqual([2 * mebibyte, mebibyte, 3 * mebibyte, mebibyte - 10])
})

test('where one comes after the other two are kept, the largest', () => {
  const spare = new SpareBuffers()
  for (const size of [3, 4, 5, 6]) spare.give(spare.take(size * mebibyte))
  expect(spare.bytes).toBe(11 * mebibyte)
})

test('so much is kept while many bodies come at a time, the largest, and no more', () => {
  const spare = new SpareBuffers()
  const buffers = [...Array<number>(16).fill(16), 15].map((size) => spare.take(size * mebibyte))
  for (const buffer of buffers.reverse()) spare.give(buffer)
  const sizes = Array.from({ length: 17 }, () => spare.take(mebibyte).length)
  expect(sizes).toEqual([...Array<number>(16).fill(16 * mebibyte), mebibyte])
})

test('when no body has come for a while the two largest are kept', () => {
  vi.useFakeTimers()
  try {
    const spare = new SpareBuffers()
    const buffers = [1, 3, 2, 1].map((size) => spare.take(size * mebibyte))
    for (const buffer of buffers) spare.give(buffer)
    vi.advanceTimersByTime(4000)
    spare.give(spare.take(mebibyte))
    vi.advanceTimersByTime(4000)
    expect(spare.bytes).toBe(7 * mebibyte)
    vi.advanceTimersByTime(4000)
    expect(spare.bytes).toBe(5 * mebibyte)
  } finally {
    vi.useRealTimers()
  }
})
