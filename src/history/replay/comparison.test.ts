/** Figures of a comparison: cases computed by hand, and rules for any scores. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compareScores, largestMovers, quantileShares, scoreFigures } from './comparison.js'

const scores = fc.array(fc.double({ min: 0, max: 3, noNaN: true }), { minLength: 2, maxLength: 200 })

test('a model agrees fully with itself', () => {
  fc.assert(
    fc.property(scores, (list) => {
      const values = Float64Array.from(list)
      const { rank_correlation, overlap, mean_absolute_difference } = compareScores(values, values)
      expect(rank_correlation === null || Math.abs(rank_correlation - 1) < 1e-9).toBe(true)
      expect(Object.values(overlap).every((share) => share === null || share === 1)).toBe(true)
      expect(mean_absolute_difference).toBe(0)
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
      const { rank_correlation } = there
      if (rank_correlation === null) expect(back.rank_correlation).toBeNull()
      else expect(rank_correlation).toBeCloseTo(back.rank_correlation ?? NaN, 9)
    }),
  )
})

test('reversed orders correlate to -1, whatever the distances', () => {
  const first = Float64Array.of(0.1, 0.2, 0.9, 5)
  const agreement = compareScores(first, Float64Array.of(4, 3, 2, 1))
  expect(agreement.rank_correlation).toBeCloseTo(-1, 12)
})

test('equal scores share the mean of their ranks', () => {
  // Ranks 1.5, 1.5, 3 against 1, 2, 3.
  const agreement = compareScores(Float64Array.of(2, 2, 1), Float64Array.of(3, 2, 1))
  expect(agreement.rank_correlation).toBeCloseTo(Math.sqrt(3) / 2, 12)
})

test('overlap counts the posts that are among the best of both', () => {
  const first = Float64Array.from({ length: 20 }, (_, row) => row)
  const second = Float64Array.from({ length: 20 }, (_, row) => (row < 5 ? 100 + row : row))
  expect(compareScores(first, second).overlap).toEqual({ 10: 0.5, 50: null, 100: null })
})

test('the best of as many posts as there are overlap fully, and there is no best of more', () => {
  const overlaps = [9, 10, 11].map((count) => {
    const first = Float64Array.from({ length: count }, (_, row) => row)
    return compareScores(first, first.toReversed()).overlap[10]
  })
  expect(overlaps).toEqual([null, 1, 0.9])
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
    expect(agreement.rank_correlation).toBeNull()
    expect(agreement.overlap).toEqual({ 10: null, 50: null, 100: null })
    expect(largestMovers(first, second, 5)).toEqual([])
  }
})

test('a shift has a signed difference of its own size, and a shuffle none', () => {
  const first = Float64Array.of(1, 2, 3, 4)
  const shifted = compareScores(first, Float64Array.of(3, 4, 5, 6))
  expect([shifted.mean_signed_difference, shifted.mean_absolute_difference]).toEqual([2, 2])
  const shuffled = compareScores(first, Float64Array.of(3, 4, 1, 2))
  expect([shuffled.mean_signed_difference, shuffled.mean_absolute_difference]).toEqual([0, 2])
})

test('distinct scores are counted', () => {
  expect(scoreFigures(Float64Array.of(2, 2, 1)).distinct_scores).toBe(2)
})

test('quantiles are interpolated linearly', () => {
  expect(scoreFigures(Float64Array.of(4, 1, 3, 2))).toEqual({
    distinct_scores: 4,
    mean: 2.5,
    quantiles: Object.fromEntries(
      [1, 1.3, 1.75, 2.5, 3.25, 3.7, 4].map((q, i): unknown[] => [quantileShares[i], expect.closeTo(q, 9)]),
    ) as unknown,
  })
})

test('the post whose rank differs most comes first', () => {
  const movers = largestMovers(Float64Array.of(4, 3, 2, 1), Float64Array.of(1, 3, 2, 4), 1)
  expect(movers).toEqual([{ row: 0, first_rank: 1, second_rank: 4 }])
})

test('posts with equal scores do not move because of their order', () => {
  const movers = largestMovers(Float64Array.of(4, 3, 2, 1), Float64Array.of(1, 1, 1, 5), 2)
  expect(movers).toEqual([
    { row: 3, first_rank: 4, second_rank: 1 },
    { row: 0, first_rank: 1, second_rank: 3 },
  ])
})
