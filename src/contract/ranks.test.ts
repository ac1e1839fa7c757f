import { describe, expect, test } from 'vitest'
import { averageRank, countsInSorted } from './ranks.js'

const rankIn = (scores: readonly number[], score: number): number =>
  averageRank(countsInSorted(Float32Array.from(scores).sort(), score))

describe('the rank of a score', () => {
  test.each([
    ['the only one', [5], 5, 1],
    ['the highest', [3, 5, 1], 5, 1],
    ['the lowest', [3, 5, 1], 1, 3],
    ['all equal', [7, 7, 7, 7], 7, 2.5],
    ['a tie of two at the top', [9, 9, 4], 9, 1.5],
    ['a tie of three below another', [9, 4, 4, 4], 4, 3],
    ['below a tie', [9, 9, 4], 4, 3],
    ['a negative score', [-1, -2, 0], -1, 2],
  ])('%s', (_, scores, score, expected) => {
    expect(rankIn(scores, score)).toBe(expected)
  })
})
