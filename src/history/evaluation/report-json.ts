/**
 * An evaluation as `understudy report --json` prints it; docs/evaluation.md lists the members. What cannot be computed is
 * null.
 */
import { formatInstant } from '../../contract/index.js'
import type { Estimate } from './estimates.js'
import type { Evaluation } from './evaluate.js'
import type { RankerFigures } from './ranker-figures.js'

export function reportJson(evaluation: Evaluation): object {
  const { window, visits, rankers, differences, firstScore, outcomes, by } = evaluation
  const { fromMs, toMs, ...counts } = window
  const { worst, ...ledger } = firstScore
  return {
    window: { from: timeOf(fromMs), to: timeOf(toMs), ...counts },
    visits,
    rankers: rankers.map(rankerJson),
    differences,
    first_score: {
      ...ledger,
      worst: worst.map(({ gallId, postNo, extractedMs, deadlineMs, firstMs, minutesLate, ...rest }) => ({
        ...{
          gall_id: gallId,
          post_no: postNo,
          extracted_at: timeOf(extractedMs),
          deadline: timeOf(deadlineMs),
        },
        ...{ first_scored_at: timeOf(firstMs), minutes_late: minutesLate, ...rest },
      })),
    },
    outcomes,
    by: Object.fromEntries(
      Object.entries(by).map(([kind, groups]) => [
        kind,
        groups.map(({ pickedSaved, rankPercentile, precision, recall, ...group }) => ({
          ...{ ...group, picked_saved: pickedSaved, rank_percentile: estimateJson(rankPercentile) },
          ...{ precision, recall },
        })),
      ]),
    ),
  }
}

export function rankerJson(ranker: RankerFigures): object {
  const { name, versions, cycles, sameBudget, savedInTop, ndcg } = ranker
  const { picks, byFate, precision, recall, harm, leadMinutes } = sameBudget
  return {
    ...{ name, versions, cycles },
    rank_percentile: estimateJson(ranker.rankPercentile),
    without_negatives: ranker.withoutNegatives,
    saved_in_top: mapValues(savedInTop, ({ value }) => value),
    saved_in_top_ci95: mapValues(savedInTop, ({ ci95 }) => ci95),
    ndcg: mapValues(ndcg, ({ value }) => value),
    ndcg_ci95: mapValues(ndcg, ({ ci95 }) => ci95),
    auc_first: ranker.aucFirst,
    auc_last: ranker.aucLast,
    average_precision_last: ranker.averagePrecisionLast,
    same_budget: {
      ...{ picks, ...byFate, precision: precision.value, recall: recall.value, harm: harm.value },
      ci95: { precision: precision.ci95, recall: recall.ci95, harm: harm.ci95 },
      lead_minutes: leadMinutes,
    },
  }
}

function estimateJson({ value, n, ci95 }: Estimate): object {
  return { mean: value, n, ci95 }
}

function mapValues<T>(
  values: Readonly<Record<string, Estimate>>,
  of: (each: Estimate) => T,
): Record<string, T> {
  return Object.fromEntries(Object.entries(values).map(([name, each]) => [name, of(each)]))
}

function timeOf(ms: number | null): string | null {
  return ms === null ? null : formatInstant(ms)
}
