/** First scores, rule by rule. */
import { describe, expect, it } from 'vitest'
import { firstScore, firstScoreDeadline } from './first-score.js'

describe('a first score', () => {
  const minute = 60_000
  const visit = { extractedMs: 2 * minute, firstMs: NaN, decidedMs: Infinity, windowEndMs: 60 * minute }

  it('takes the second boundary at or after extraction as the deadline', () => {
    expect([0, 1, 5 * minute, 5 * minute + 1].map((ms) => firstScoreDeadline(ms) / minute)).toEqual([
      5, 10, 10, 15,
    ])
  })

  it.each([
    ['excluded', { extractedMs: NaN, firstMs: 5 * minute }],
    ['on_time', { firstMs: 10 * minute }],
    ['late', { firstMs: 10 * minute + 1 }],
    ['never', {}],
    ['excluded', { windowEndMs: 10 * minute - 1 }],
    ['never', { windowEndMs: 10 * minute }],
    ['excluded', { decidedMs: 10 * minute }],
    ['late', { decidedMs: 10 * minute + 1, firstMs: 15 * minute }],
    ['on_time', { decidedMs: 3 * minute, firstMs: 5 * minute }],
  ] as const)('is %s for %o', (expected, change) => {
    expect(firstScore({ ...visit, ...change })).toBe(expected)
  })
})
