import { expect, test } from 'vitest'
import { BytesInUse } from './bytes-in-use.js'

test('the file is looked at once after each commit, and not at all when nobody asks', () => {
  let bytes = 1000
  let looks = 0
  const inUse = new BytesInUse(() => {
    looks++
    return bytes
  })
  expect([inUse.now(), inUse.now(), looks]).toEqual([1000, 1000, 1])
  bytes = 2000
  inUse.commitEnded()
  inUse.commitEnded()
  expect(looks).toBe(1)
  expect([inUse.now(), inUse.now(), looks]).toEqual([2000, 2000, 2])
})

test('a look that fails is no answer: the next one looks again', () => {
  let fails = true
  const inUse = new BytesInUse(() => {
    if (fails) throw new Error('closed')
    return 1
  })
  expect(() => inUse.now()).toThrow('closed')
  fails = false
  expect(inUse.now()).toBe(1)
})
