/**
 * The figures of one ranker, from its evaluation over a window: means with intervals, and the picks at the same budget.
 */
import { minuteMs } from '../../base/index.js'
import {
  assert,
  type BudgetFigures,
  type ByDepth,
  type Difference,
  type Estimate,
  type Fate,
  type Interval,
  type Ranker,
} from '../../contract/index.js'
import { averagePrecision, quantile, rocAuc } from './ranking.js'
import { verdictUnitsMin, type Units } from './estimates.js'
import { UnitSums } from './intervals.js'
import { fates, ndcgDepths, topDepths, type RankerEvaluation } from './ranker-evaluation.js'
import type { EvaluationWindow } from './window.js'

export interface EvaluatedRanker extends Pick<Ranker, 'name' | 'versions' | 'cycles'> {
  readonly evaluation: RankerEvaluation
}

const saved = fates.indexOf('saved')

export function rankerFigures(
  { name, versions, cycles, evaluation }: EvaluatedRanker,
  window: EvaluationWindow,
  units: Units,
): Ranker {
  const { rankPercentile, rank } = evaluation
  assert(rank.length === window.fates.count, 'a ranker has a rank for each visit')
  assert(cycles <= window.cycles.length, 'a ranker has scores in cycles of the window')
  const percentiles = new UnitSums()
  const inTop = topDepths.map((depth) => [depth, new UnitSums()] as const)
  let withoutNegatives = 0
  for (let visit = 0; visit < rank.length; visit++) {
    if (Number.isNaN(rank[visit])) continue
    const unit = units.ofVisit(visit)
    if (Number.isNaN(rankPercentile[visit])) withoutNegatives++
    else percentiles.add(unit, rankPercentile[visit]!)
    for (const [depth, sums] of inTop) sums.add(unit, rank[visit]! <= depth ? 1 : 0)
  }
  const gains = ndcgDepths.map((depth, depthIndex) => {
    const sums = new UnitSums()
    for (const { cycleIndex, values } of evaluation.ndcg)
      sums.add(units.ofCycle(cycleIndex), values[depthIndex]!)
    return [depth, units.estimate(sums)] as const
  })
  const tops = inTop.map(([depth, sums]) => [depth, units.estimate(sums)] as const)
  return {
    name,
    versions,
    cycles,
    rank_percentile: units.estimate(percentiles),
    without_negatives: withoutNegatives,
    saved_in_top: meansOf(tops),
    saved_in_top_ci95: intervalsOf(tops),
    ndcg: meansOf(gains),
    ndcg_ci95: intervalsOf(gains),
    // Baselines have no figures by visit.
    ...(versions.length > 0 ? visitFigures(evaluation, window) : noVisitFigures),
    same_budget: budgetFigures(evaluation, window, units),
  }
}

type Depths = readonly (readonly [depth: number, estimate: Estimate])[]

function meansOf(depths: Depths): ByDepth<number> {
  return Object.fromEntries(depths.map(([depth, { mean }]) => [depth, mean]))
}

function intervalsOf(depths: Depths): ByDepth<Interval> {
  return Object.fromEntries(depths.map(([depth, { ci95 }]) => [depth, ci95]))
}

type VisitFigures = Pick<Ranker, 'auc_first' | 'auc_last' | 'average_precision_last'>
const noVisitFigures: VisitFigures = { auc_first: null, auc_last: null, average_precision_last: null }

/** Compares saved with all other fates, over scored visits with a fate. */
function visitFigures(
  { firstScore, lastScore }: RankerEvaluation,
  { fates: { fate, count } }: EvaluationWindow,
): VisitFigures {
  const decided = [...Array(count).keys()].filter((visit) => fates[fate[visit]!] !== 'open')
  const labelled = (scores: Float64Array): [Float64Array, Uint8Array] => {
    const visits = decided.filter((visit) => !Number.isNaN(scores[visit]))
    return [
      Float64Array.from(visits, (visit) => scores[visit]!),
      Uint8Array.from(visits, (visit) => (fate[visit] === saved ? 1 : 0)),
    ]
  }
  return {
    auc_first: rocAuc(...labelled(firstScore)),
    auc_last: rocAuc(...labelled(lastScore)),
    average_precision_last: averagePrecision(...labelled(lastScore)),
  }
}

function budgetFigures(
  { picks, isPicked }: RankerEvaluation,
  { fates: { fate, decidedMs, count }, cycles }: EvaluationWindow,
  units: Units,
): BudgetFigures {
  const byFate = Object.fromEntries(fates.map((each) => [each, 0])) as Record<Fate, number>
  const [precisionSums, harmSums, recallSums] = [new UnitSums(), new UnitSums(), new UnitSums()]
  const leads: number[] = []
  for (const { visit, cycleIndex } of picks) {
    const end = fates[fate[visit]!]!
    byFate[end]++
    if (end === 'open') continue
    const unit = units.ofCycle(cycleIndex)
    precisionSums.add(unit, end === 'saved' ? 1 : 0)
    harmSums.add(unit, end === 'hidden' || end === 'deleted' ? 1 : 0)
    const cycleMs = cycles[cycleIndex]?.cycleAtMs ?? NaN
    if (end === 'saved') leads.push((decidedMs[visit]! - cycleMs) / minuteMs)
  }
  for (let visit = 0; visit < count; visit++)
    if (fate[visit] === saved) recallSums.add(units.ofVisit(visit), isPicked[visit]!)
  const precision = units.estimate(precisionSums)
  const recall = units.estimate(recallSums)
  const harm = units.estimate(harmSums)
  return {
    picks: picks.length,
    ...byFate,
    precision: precision.mean,
    recall: recall.mean,
    harm: harm.mean,
    ci95: { precision: precision.ci95, recall: recall.ci95, harm: harm.ci95 },
    lead_minutes: { p10: quantile(leads, 0.1), p50: quantile(leads, 0.5), p90: quantile(leads, 0.9) },
  }
}

/** `days`: KST days of the window. */
export function difference(a: EvaluatedRanker, b: EvaluatedRanker, units: Units, days: number): Difference {
  const sums = new UnitSums()
  for (const [visit, value] of a.evaluation.rankPercentile.entries()) {
    const other = b.evaluation.rankPercentile[visit]!
    if (!Number.isNaN(value) && !Number.isNaN(other)) sums.add(units.ofVisit(visit), value - other)
  }
  const { mean, n, ci95 } = units.estimate(sums)
  const names = { a: a.name, b: b.name, mean, n, ci95 }
  if (mean === null || ci95 === null) return { ...names, verdict: null, more_days: null }
  const [low, high] = ci95
  if (sums.unitCount >= verdictUnitsMin && (low > 0 || high < 0))
    return { ...names, verdict: low > 0 ? 'better' : 'worse', more_days: 0 }
  // The half-width shrinks with the root of the number of days.
  const ratio = (high - low) / 2 / Math.abs(mean)
  const more_days = Number.isFinite(ratio) ? Math.max(1, Math.ceil(days * (ratio ** 2 - 1))) : null
  return { ...names, verdict: 'cannot be told apart', more_days }
}
