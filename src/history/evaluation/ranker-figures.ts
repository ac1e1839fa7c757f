/**
 * The figures of one ranker, from its evaluation over a window: means with intervals, and the picks at the same budget.
 */
import type { Estimate, Units } from './estimates.js'
import { UnitSums, type Interval } from './intervals.js'
import { averagePrecision, quantile, rocAuc } from '../ranking.js'
import { fates, ndcgDepths, topDepths, type Fate, type RankerEvaluation } from './ranker-evaluation.js'
import type { Ranker } from './rankers.js'
import type { EvaluationWindow } from './window.js'

export interface EvaluatedRanker extends Pick<Ranker, 'name' | 'versions'> {
  readonly evaluation: RankerEvaluation
  /** Cycles with scores of the ranker. */
  readonly cycles: number
}

export interface RankerFigures extends Omit<EvaluatedRanker, 'evaluation'> {
  readonly rankPercentile: Estimate
  /** Saved visits whose decision cycle has no negatives. */
  readonly withoutNegatives: number
  /** By depth. */
  readonly savedInTop: Readonly<Record<number, Estimate>>
  readonly ndcg: Readonly<Record<number, Estimate>>
  readonly aucFirst: number | null
  readonly aucLast: number | null
  readonly averagePrecisionLast: number | null
  readonly sameBudget: BudgetFigures
}

export interface BudgetFigures {
  readonly picks: number
  readonly byFate: Readonly<Record<Fate, number>>
  readonly precision: Estimate
  readonly recall: Estimate
  readonly harm: Estimate
  readonly leadMinutes: {
    readonly p10: number | null
    readonly p50: number | null
    readonly p90: number | null
  }
}

const saved = fates.indexOf('saved')
const minuteMs = 60_000

export function rankerFigures(
  { name, versions, cycles, evaluation }: EvaluatedRanker,
  window: EvaluationWindow,
  units: Units,
): RankerFigures {
  const { rankPercentile, rank } = evaluation
  const percentiles = new UnitSums()
  const inTop = topDepths.map((depth) => [depth, new UnitSums()] as const)
  let withoutNegatives = 0
  for (let visit = 0; visit < rank.length; visit++) {
    if (Number.isNaN(rank[visit])) continue
    const unit = units.ofVisit(visit)
    if (Number.isNaN(rankPercentile[visit])) withoutNegatives++
    else percentiles.add(unit, rankPercentile[visit] as number)
    for (const [depth, sums] of inTop) sums.add(unit, (rank[visit] as number) <= depth ? 1 : 0)
  }
  const gains = ndcgDepths.map((depth, place) => {
    const sums = new UnitSums()
    for (const { cycleIndex, values } of evaluation.ndcg)
      sums.add(units.ofCycle(cycleIndex), values[place] as number)
    return [depth, units.estimate(sums)] as const
  })
  return {
    ...{ name, versions, cycles, withoutNegatives, rankPercentile: units.estimate(percentiles) },
    savedInTop: Object.fromEntries(inTop.map(([depth, sums]) => [depth, units.estimate(sums)])),
    ndcg: Object.fromEntries(gains),
    // Baselines have no figures by visit.
    ...(versions.length > 0 ? visitFigures(evaluation, window) : noVisitFigures),
    sameBudget: budgetFigures(evaluation, window, units),
  }
}

type VisitFigures = Pick<RankerFigures, 'aucFirst' | 'aucLast' | 'averagePrecisionLast'>
const noVisitFigures: VisitFigures = { aucFirst: null, aucLast: null, averagePrecisionLast: null }

/** Over visits with a fate that were scored: saved against all other fates. */
function visitFigures(
  { firstScore, lastScore }: RankerEvaluation,
  { fates: { fate, count } }: EvaluationWindow,
): VisitFigures {
  const decided = [...Array(count).keys()].filter((visit) => fates[fate[visit] as number] !== 'open')
  const labelled = (scores: Float64Array): [Float64Array, Uint8Array] => {
    const visits = decided.filter((visit) => !Number.isNaN(scores[visit]))
    return [
      Float64Array.from(visits, (visit) => scores[visit] as number),
      Uint8Array.from(visits, (visit) => (fate[visit] === saved ? 1 : 0)),
    ]
  }
  return {
    aucFirst: rocAuc(...labelled(firstScore)),
    aucLast: rocAuc(...labelled(lastScore)),
    averagePrecisionLast: averagePrecision(...labelled(lastScore)),
  }
}

function budgetFigures(
  { picks, isPicked }: RankerEvaluation,
  { fates: { fate, decidedMs, count }, cycles }: EvaluationWindow,
  units: Units,
): BudgetFigures {
  const byFate = Object.fromEntries(fates.map((each) => [each, 0])) as Record<Fate, number>
  const [precision, harm, recall] = [new UnitSums(), new UnitSums(), new UnitSums()]
  const leads: number[] = []
  for (const { visit, cycleIndex } of picks) {
    const its = fates[fate[visit] as number] as Fate
    byFate[its]++
    if (its === 'open') continue
    const unit = units.ofCycle(cycleIndex)
    precision.add(unit, its === 'saved' ? 1 : 0)
    harm.add(unit, its === 'hidden' || its === 'deleted' ? 1 : 0)
    const cycleMs = cycles[cycleIndex]?.cycleAtMs ?? NaN
    if (its === 'saved') leads.push(((decidedMs[visit] as number) - cycleMs) / minuteMs)
  }
  for (let visit = 0; visit < count; visit++)
    if (fate[visit] === saved) recall.add(units.ofVisit(visit), isPicked[visit] as number)
  return {
    picks: picks.length,
    byFate,
    ...{ precision: units.estimate(precision), recall: units.estimate(recall), harm: units.estimate(harm) },
    leadMinutes: { p10: quantile(leads, 0.1), p50: quantile(leads, 0.5), p90: quantile(leads, 0.9) },
  }
}

export type Verdict = 'better' | 'worse' | 'cannot be told apart'

export interface Difference {
  readonly a: string
  readonly b: string
  /** Mean difference of rank percentiles, a minus b, over the visits that both ranked. */
  readonly mean: number | null
  readonly n: number
  readonly ci95: Interval | null
  readonly verdict: Verdict | null
  /** Further days for a verdict if the difference persists; 0 if there is one, null if no number suffices. */
  readonly more_days: number | null
}

/** `days`: KST days of the window. */
export function difference(a: EvaluatedRanker, b: EvaluatedRanker, units: Units, days: number): Difference {
  const sums = new UnitSums()
  for (const [visit, value] of a.evaluation.rankPercentile.entries()) {
    const other = b.evaluation.rankPercentile[visit] as number
    if (!Number.isNaN(value) && !Number.isNaN(other)) sums.add(units.ofVisit(visit), value - other)
  }
  const { value: mean, n, ci95 } = units.estimate(sums)
  const names = { a: a.name, b: b.name, mean, n, ci95 }
  if (mean === null || ci95 === null) return { ...names, verdict: null, more_days: null }
  const [low, high] = ci95
  if (low > 0 || high < 0) return { ...names, verdict: low > 0 ? 'better' : 'worse', more_days: 0 }
  // The half-width shrinks with the root of the number of days.
  const ratio = (high - low) / 2 / Math.abs(mean)
  const more_days = Number.isFinite(ratio) ? Math.max(1, Math.ceil(days * (ratio ** 2 - 1))) : null
  return { ...names, verdict: 'cannot be told apart', more_days }
}
