/** When a remembered result is made again. */
import { expect, test } from 'vitest'
import { memoizeLast } from './memoize-last.js'

test('a result is made once for each run of equal arguments, also undefined', () => {
  const made: number[] = []
  const half = memoizeLast((argument: number) => {
    made.push(argument)
    return argument === 0 ? undefined : argument / 2
  })
  expect([4, 4, 0, 0, 4].map(half)).toEqual([2, 2, undefined, undefined, 2])
  expect(made).toEqual([4, 0, 4])
})
