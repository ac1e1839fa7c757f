/**
 * The rankers' figures equal an independent implementation, written from the definitions with objects and full sorts, on
 * random histories: ties, missing scores, waiting rows, reports that come late, cycles without negatives.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Fate } from '../../contract/index.js'
import {
  budgets,
  DecisionCycles,
  poolOf,
  fates,
  RankerEvaluation,
  type ScoredCycle,
} from './ranker-evaluation.js'

interface NaiveVisit {
  readonly fate: Fate
  readonly d: number
}
interface History {
  readonly visits: readonly NaiveVisit[]
  /** The scored visits of each cycle in order, with their scores. */
  readonly cycles: readonly {
    readonly at: number
    readonly rows: readonly (readonly [visit: number, score: number])[]
  }[]
}

const visitCount = 12
const history: fc.Arbitrary<History> = fc
  .record({
    visits: fc.array(fc.record({ fate: fc.constantFrom(...fates), d: fc.integer({ min: 0, max: 90 }) }), {
      minLength: visitCount,
      maxLength: visitCount,
    }),
    gaps: fc.array(fc.integer({ min: 1, max: 20 }), { maxLength: 9 }),
    rows: fc.array(
      fc.uniqueArray(
        fc.tuple(fc.nat(visitCount - 1), fc.oneof(fc.integer({ min: 0, max: 4 }), fc.constant(NaN))),
        { selector: ([visit]) => visit },
      ),
      { minLength: 9, maxLength: 9 },
    ),
  })
  .map(({ visits, gaps, rows }) => {
    let at = 0
    return {
      visits: visits.map(({ fate, d }) => ({ fate, d: fate === 'open' ? Infinity : d })),
      cycles: gaps.map((gap, index) => ({ at: (at += gap), rows: rows[index] ?? [] })),
    }
  })

function evaluate({ visits, cycles }: History): { evaluation: RankerEvaluation; decisions: DecisionCycles } {
  const columns = {
    count: visits.length,
    fate: Uint8Array.from(visits, ({ fate }) => fates.indexOf(fate)),
    decidedMs: Float64Array.from(visits, ({ d }) => d),
  }
  const scored: ScoredCycle[] = cycles.map(({ at, rows }, index) => ({
    cycleMs: at,
    nextMs: cycles[index + 1]?.at ?? Infinity,
    visits: Int32Array.from(rows, ([visit]) => visit),
  }))
  const decisions = new DecisionCycles(columns)
  scored.forEach((cycle, index) => decisions.add(index, cycle))
  const evaluation = new RankerEvaluation(columns)
  const budget = budgets(
    cycles.map(({ at }) => at),
    columns,
  )
  scored.forEach((cycle, index) => {
    const scores = Float64Array.from(cycles[index]!.rows, ([, score]) => score)
    evaluation.add(index, cycle, poolOf(index, cycle, columns, decisions), scores, budget[index]!)
  })
  return { evaluation, decisions }
}

/** The definitions, implemented literally. */
function naive({ visits, cycles }: History) {
  const value = (score: number): number => (Number.isNaN(score) ? -1 : score)
  const poolOf = (c: History['cycles'][number]) => c.rows.filter(([visit]) => visits[visit]!.d > c.at)
  const picksOf = (index: number): number[] => {
    const next = cycles[index + 1]?.at ?? Infinity
    return [...visits.keys()].filter((visit) => {
      const { fate, d } = visits[visit]!
      return fate === 'saved' && d > cycles[index]!.at && d <= next
    })
  }
  const percentiles = visits.map(() => NaN)
  const ranks = visits.map(() => NaN)
  visits.forEach(({ fate, d }, visit) => {
    if (fate !== 'saved') return
    const index = cycles.findLastIndex((c) => c.at < d && poolOf(c).some(([other]) => other === visit))
    if (index < 0) return
    const pool = poolOf(cycles[index]!)
    const ownScore = value(pool.find(([other]) => other === visit)![1])
    const all = pool.map(([, score]) => value(score)).sort((a, b) => b - a)
    ranks[visit] = (all.indexOf(ownScore) + all.lastIndexOf(ownScore)) / 2 + 1
    const negatives = pool
      .filter(([other]) => !picksOf(index).includes(other))
      .map(([, score]) => value(score))
    if (negatives.length > 0)
      percentiles[visit] =
        (negatives.filter((score) => score < ownScore).length +
          negatives.filter((score) => score === ownScore).length / 2) /
        negatives.length
  })
  const picked = new Set<number>()
  const picks: number[][] = []
  const ndcgs: (number[] | null)[] = []
  cycles.forEach((c, index) => {
    const byScore = [...poolOf(c)].sort((a, b) => value(b[1]) - value(a[1]))
    const taken = byScore.filter(([visit]) => !picked.has(visit)).slice(0, picksOf(index).length)
    for (const [visit] of taken) picked.add(visit)
    picks.push(...taken.map(([visit]) => [visit, index]))
    const relevant = byScore.filter(([visit]) => picksOf(index).includes(visit)).length
    if (relevant === 0) return
    ndcgs.push(
      [10, 50].map((k) => {
        const discount = (i: number): number => 1 / Math.log2(i + 2)
        const dcg = byScore
          .slice(0, k)
          .reduce((sum, [visit], i) => sum + (picksOf(index).includes(visit) ? discount(i) : 0), 0)
        const ideal = Array.from({ length: Math.min(k, relevant) }, (_, i) => discount(i)).reduce(
          (a, b) => a + b,
          0,
        )
        return dcg / ideal
      }),
    )
  })
  return { percentiles, ranks, picks, ndcgs }
}

describe('the evaluation of a ranker', () => {
  it('equals an independent implementation on random histories', () => {
    fc.assert(
      fc.property(history, (random) => {
        const { evaluation } = evaluate(random)
        const expected = naive(random)
        expect(Array.from(evaluation.rankPercentile)).toEqual(expected.percentiles)
        expect(Array.from(evaluation.rank)).toEqual(expected.ranks)
        expect(evaluation.picks.map(({ visit, cycleIndex }) => [visit, cycleIndex])).toEqual(expected.picks)
        expect(evaluation.ndcg.map(({ values }) => values)).toEqual(expected.ndcgs)
      }),
      { numRuns: 1000 },
    )
  })
})
