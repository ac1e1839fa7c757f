/** Which lines the limit leaves out. */
import { expect, test } from 'vitest'
import { LineLimit } from './line-limit.js'

test('a second has ten lines, and the next line states how many were left out since the last one', () => {
  const limit = new LineLimit()
  const taken = (count: number, ms: number) => Array.from({ length: count }, () => limit.take(ms))
  expect(taken(25, 5000)).toEqual([...Array<number>(10).fill(0), ...Array<null>(15).fill(null)])
  expect(taken(1, 5999)).toEqual([null])
  expect(taken(11, 6000)).toEqual([16, ...Array<number>(9).fill(0), null])
  expect(taken(2, 60_000)).toEqual([1, 0])
})
