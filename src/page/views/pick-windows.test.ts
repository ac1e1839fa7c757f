/** The window of picks: which one a screen needs, and what stays on the screen until it arrives. */
import { expect, test } from 'vitest'
import type { Picks } from '../../contract/index.js'
import { ApiError } from '../service/api.js'
import { shownPicks, windowStart } from './pick-windows.js'

const picks = { offset: 50, galleries: ['g'], picks: [{ post_no: 1 }, { post_no: 2 }] } as unknown as Picks
const failure = new ApiError(500, 'down')

test('a window begins at a multiple of 50, at or above the first row of the screen', () => {
  expect([0, 49, 50, 149, 150].map(windowStart)).toEqual([0, 0, 50, 100, 150])
})

test('a row is that of its index in the list, not in the window', () => {
  const { at } = shownPicks({ filter: 'q=a', picks }, 'q=a', null)
  expect([49, 50, 51, 52].map((index) => at(index)?.post_no)).toEqual([undefined, 1, 2, undefined])
})

test('the rows of another filter stay, marked, until the request for this one has failed', () => {
  const before = { filter: 'q=a', picks }
  expect(shownPicks(before, 'q=b', null)).toMatchObject({ picks, isOfOtherFilter: true, error: null })
  const failed = shownPicks(before, 'q=b', failure)
  expect(failed).toMatchObject({ picks: null, isOfOtherFilter: false, error: failure, galleries: ['g'] })
  expect(failed.at(50)).toBeUndefined()
})

test('the rows of the same filter stay after a failure', () => {
  expect(shownPicks({ filter: '', picks }, '', failure)).toMatchObject({ picks, isOfOtherFilter: false })
})

test('before the first response there is nothing', () => {
  expect(shownPicks(null, '', null)).toMatchObject({ picks: null, isOfOtherFilter: false, galleries: [] })
})
