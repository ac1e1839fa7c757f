/** Buffers that serve again. */
import { expect, test } from 'vitest'
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

test('two are kept, the largest, and no small ones', () => {
  const spare = new SpareBuffers()
  const buffers = [1, 3, 2].map((size) => spare.take(size * mebibyte))
  for (const buffer of [...buffers, Buffer.alloc(1000)]) spare.give(buffer)
  expect([1, 1, 1].map(() => spare.take(10).length)).toEqual([3 * mebibyte, 2 * mebibyte, 10])
})
