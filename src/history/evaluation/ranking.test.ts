/**
 * Ranking metrics equal the values of scikit-learn, SciPy and NumPy on fixed lists (scikit_learn_values.py), and a
 * bootstrap interval repeats and contains the mean.
 */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { mulberry32 } from '../../base/index.js'
import { UnitSums } from './intervals.js'
import {
  averagePrecision,
  highest,
  ndcg,
  quantile,
  rankAmong,
  rocAuc,
  sortKeys,
  spearman,
} from './ranking.js'

interface Case {
  readonly scores: number[]
  readonly other: number[]
  readonly distinct: number[]
  readonly positive: number[]
  readonly roc_auc: number
  readonly average_precision: number
  readonly spearman: number
  readonly ndcg_10: number
  readonly ndcg_50: number
  readonly quantiles: number[]
}
const { cases } = JSON.parse(
  readFileSync(new URL('../../../test/golden/evaluation/scikit-learn-values.json', import.meta.url), 'utf8'),
) as { cases: Case[] }

describe('ranking metrics', () => {
  it.each(cases.map((values, index) => [index, values] as const))(
    'equal the libraries: list %i',
    (_, values) => {
      const scores = Float64Array.from(values.scores)
      const positive = Uint8Array.from(values.positive)
      expect(rocAuc(scores, positive)).toBeCloseTo(values.roc_auc, 12)
      expect(averagePrecision(scores, positive)).toBeCloseTo(values.average_precision, 12)
      expect(spearman(scores, Float64Array.from(values.other))).toBeCloseTo(values.spearman, 12)
      expect([0.1, 0.5, 0.9].map((share) => quantile(scores, share))).toEqual(
        values.quantiles.map((value) => expect.closeTo(value, 12) as number),
      )
      const ranked = highest(Float64Array.from(values.distinct), [...scores.keys()], 50)
      const count = values.positive.filter((label) => label === 1).length
      const isRelevant = (row: number): boolean => positive[row] === 1
      expect(ndcg(ranked, isRelevant, count, 10)).toBeCloseTo(values.ndcg_10, 12)
      expect(ndcg(ranked, isRelevant, count, 50)).toBeCloseTo(values.ndcg_50, 12)
    },
  )

  it('rank a missing score below every number, and tie missing scores', () => {
    const keys = sortKeys(Float64Array.of(NaN, 0, -5, NaN, 0))
    expect(highest(keys, [0, 1, 2, 3, 4], 5)).toEqual([1, 4, 2, 0, 3])
    expect(rankAmong(keys, [0, 1, 2, 3, 4], keys[0]!)).toEqual({ above: 3, tied: 2 })
    expect(rankAmong(keys, [0, 2], 0)).toEqual({ above: 0, tied: 0 })
  })

  it('are null without data', () => {
    expect(rocAuc(Float64Array.of(1, 2), Uint8Array.of(1, 1))).toBeNull()
    expect(averagePrecision(Float64Array.of(1), Uint8Array.of(0))).toBeNull()
    expect(spearman(Float64Array.of(1, 1), Float64Array.of(1, 2))).toBeNull()
    expect(quantile([], 0.5)).toBeNull()
  })
})

describe('a bootstrap interval', () => {
  const sums = (values: readonly number[]): UnitSums => {
    const units = new UnitSums()
    for (const [unit, value] of values.entries()) units.add(unit, value)
    return units
  }

  it('equals a naive bootstrap of the same draws', () => {
    const values = [0.2, 0.9, 0.4, 0.7, 0.1, 0.6]
    const units = new UnitSums()
    values.forEach((value, unit) => units.add(unit % 4, value, 1 + (unit % 2)))
    const sums = [0, 1, 2, 3].map((unit) => ({
      numerator: values.reduce((sum, value, i) => sum + (i % 4 === unit ? value : 0), 0),
      denominator: values.reduce((sum, _, i) => sum + (i % 4 === unit ? 1 + (i % 2) : 0), 0),
    }))
    const random = mulberry32(0x5eed)
    const ratios = Array.from({ length: 2000 }, () => {
      const drawn = sums.map(() => sums[Math.floor(random() * sums.length)]!)
      const total = (name: 'numerator' | 'denominator'): number =>
        drawn.reduce((sum, unit) => sum + unit[name], 0)
      return total('numerator') / total('denominator')
    }).sort((a, b) => a - b)
    const at = (share: number): number => {
      const virtualIndex = share * 1999
      const low = ratios[Math.floor(virtualIndex)]!
      return low + (ratios[Math.ceil(virtualIndex)]! - low) * (virtualIndex % 1)
    }
    const [low, high] = units.interval()!
    expect(low).toBeCloseTo(at(0.025), 12)
    expect(high).toBeCloseTo(at(0.975), 12)
  })

  it('repeats, contains the mean, and shrinks with the number of units', () => {
    const few = sums([0.2, 0.4, 0.6, 0.8, 0.5])
    const [low, high] = few.interval()!
    expect(few.interval()).toEqual([low, high])
    expect(low).toBeLessThan(few.ratio!)
    expect(high).toBeGreaterThan(few.ratio!)
    const many = sums(
      Array.from({ length: 80 }, (_, unit) => [0.2, 0.4, 0.6, 0.8, 0.5][unit % 5]!),
    ).interval()!
    expect(many[1] - many[0]).toBeLessThan((high - low) / 2)
  })

  it('is null without data, and the value itself for one unit', () => {
    expect(new UnitSums().interval()).toBeNull()
    expect(sums([0.25]).interval()).toEqual([0.25, 0.25])
  })
})
