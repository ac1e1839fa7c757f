/** Figures of a comparison: cases computed by hand, and rules for any scores. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compareScores, largestMovers } from './comparison.js'

const scores = fc.array(fc.double({ min: 0, max: 3, noNaN: true }), { minLength: 2, maxLength: 200 })

test('a model agrees fully with itself', () => {
  fc.assert(
    fc.property(scores, (list) => {
      const values = Float64Array.from(list)
      const { rankCorrelation, overlap, meanAbsoluteDifference } = compareScores(values, values)
      expect(rankCorrelation === null || Math.abs(rankCorrelation - 1) < 1e-9).toBe(true)
      expect(overlap.every((share) => share === null || share === 1)).toBe(true)
      expect(meanAbsoluteDifference).toBe(0)
      expect(largestMovers(values, values, 5)).toEqual([])
    }),
  )
})

test('the symmetric figures do not depend on the order of the two models', () => {
  fc.assert(
    fc.property(scores, scores, (a, b) => {
      const count = Math.min(a.length, b.length)
      const [first, second] = [Float64Array.from(a.slice(0, count)), Float64Array.from(b.slice(0, count))]
      const [there, back] = [compareScores(first, second), compareScores(second, first)]
      expect(there.overlap).toEqual(back.overlap)
      expect(there.first).toEqual(back.second)
      if (there.rankCorrelation === null) expect(back.rankCorrelation).toBeNull()
      else expect(there.rankCorrelation).toBeCloseTo(back.rankCorrelation ?? NaN, 9)
    }),
  )
})

test('reversed orders correlate to -1, whatever the distances', () => {
  const first = Float64Array.of(0.1, 0.2, 0.9, 5)
  expect(compareScores(first, Float64Array.of(4, 3, 2, 1)).rankCorrelation).toBeCloseTo(-1, 12)
})

test('equal scores share the mean of their ranks', () => {
  // Ranks 1.5, 1.5, 3 against 1, 2, 3.
  const { rankCorrelation } = compareScores(Float64Array.of(2, 2, 1), Float64Array.of(3, 2, 1))
  expect(rankCorrelation).toBeCloseTo(Math.sqrt(3) / 2, 12)
})

test('overlap counts the posts that both have among their best', () => {
  const first = Float64Array.from({ length: 20 }, (_, row) => row)
  const second = Float64Array.from({ length: 20 }, (_, row) => (row < 5 ? 100 + row : row))
  expect(compareScores(first, second).overlap).toEqual([0.5, null, null])
})

test('a model with one score for all posts has no correlation and no overlap with any model', () => {
  const scores = Float64Array.from({ length: 20 }, (_, row) => row)
  const same = new Float64Array(20).fill(0.5)
  for (const [first, second] of [
    [scores, same],
    [same, scores],
    [same, same],
  ] as const) {
    const agreement = compareScores(first, second)
    expect(agreement.rankCorrelation).toBeNull()
    expect(agreement.overlap).toEqual([null, null, null])
    expect(largestMovers(first, second, 5)).toEqual([])
  }
})

test('a shift has a signed difference of its own size, and a shuffle none', () => {
  const first = Float64Array.of(1, 2, 3, 4)
  const shifted = compareScores(first, Float64Array.of(3, 4, 5, 6))
  expect([shifted.meanSignedDifference, shifted.meanAbsoluteDifference]).toEqual([2, 2])
  const shuffled = compareScores(first, Float64Array.of(3, 4, 1, 2))
  expect([shuffled.meanSignedDifference, shuffled.meanAbsoluteDifference]).toEqual([0, 2])
})

test('distinct scores are counted for each model', () => {
  const { first, second } = compareScores(Float64Array.of(2, 2, 1), Float64Array.of(3, 2, 1))
  expect([first.distinctCount, second.distinctCount]).toEqual([2, 3])
})

test('quantiles are interpolated linearly', () => {
  const { first } = compareScores(Float64Array.of(4, 1, 3, 2), Float64Array.of(1, 2, 3, 4))
  expect(first).toEqual({
    distinctCount: 4,
    mean: 2.5,
    quantiles: [1, 1.3, 1.75, 2.5, 3.25, 3.7, 4].map((q): unknown => expect.closeTo(q, 9)),
  })
})

test('the post whose rank differs most comes first', () => {
  const movers = largestMovers(Float64Array.of(4, 3, 2, 1), Float64Array.of(1, 3, 2, 4), 1)
  expect(movers).toEqual([{ row: 0, firstRank: 1, secondRank: 4 }])
})

test('posts with equal scores do not move because of their order', () => {
  const movers = largestMovers(Float64Array.of(4, 3, 2, 1), Float64Array.of(1, 1, 1, 5), 2)
  expect(movers).toEqual([
    { row: 3, firstRank: 4, secondRank: 1 },
    { row: 0, firstRank: 1, secondRank: 3 },
  ])
})
