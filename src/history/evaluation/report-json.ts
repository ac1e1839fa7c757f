/**
 * An evaluation as `understudy report --json` prints it; docs/evaluation.md lists the members. What cannot be computed is
 * null.
 */
import { formatInstant } from '../../contract/index.js'
import type { Evaluation } from './evaluate.js'
import type { RankerFigures } from './ranker-figures.js'

export function reportJson(evaluation: Evaluation): object {
  const { window, visits, firstScore, by } = evaluation
  return {
    window: {
      from: timeOf(window.fromMs),
      to: timeOf(window.toMs),
      cycles: window.cycles,
      days: window.days,
    },
    visits: {
      total: visits.total,
      saved: visits.saved,
      hidden: visits.hidden,
      deleted: visits.deleted,
      aged_out: visits.aged_out,
      open: visits.open,
      unranked_saved: visits.unranked_saved,
    },
    rankers: evaluation.rankers.map(rankerJson),
    differences: evaluation.differences.map(({ a, b, mean, ci95, verdict }) => ({
      a,
      b,
      mean,
      ci95,
      verdict,
    })),
    first_score: {
      on_time: firstScore.on_time,
      late: firstScore.late,
      never: firstScore.never,
      excluded: firstScore.excluded,
      share: firstScore.share,
      target: firstScore.target,
      worst: firstScore.worst.map((offender) => ({
        gall_id: offender.gallId,
        post_no: offender.postNo,
        result: offender.result,
        extracted_at: timeOf(offender.extractedMs),
        deadline: timeOf(offender.deadlineMs),
        first_scored_at: timeOf(offender.firstMs),
        minutes_late: offender.minutesLate,
        reason: offender.reason,
      })),
    },
    outcomes: evaluation.outcomes,
    by: Object.fromEntries(
      Object.entries(by).map(([kind, groups]) => [
        kind,
        groups.map((group) => ({
          value: group.value,
          visits: group.visits,
          saved: group.saved,
          picks: group.picks,
          picked_saved: group.pickedSaved,
          rank_percentile: estimateJson(group.rankPercentile),
          precision: group.precision,
          recall: group.recall,
        })),
      ]),
    ),
  }
}

export function rankerJson(ranker: RankerFigures): object {
  const { sameBudget, savedInTop, ndcg } = ranker
  const values = (figures: RankerFigures['ndcg']): object =>
    Object.fromEntries(Object.entries(figures).map(([depth, { value }]) => [depth, value]))
  return {
    name: ranker.name,
    versions: ranker.versions,
    rank_percentile: estimateJson(ranker.rankPercentile),
    saved_in_top: values(savedInTop),
    ndcg: values(ndcg),
    auc_first: ranker.aucFirst,
    auc_last: ranker.aucLast,
    average_precision_last: ranker.averagePrecisionLast,
    same_budget: {
      picks: sameBudget.picks,
      saved: sameBudget.byFate.saved,
      hidden: sameBudget.byFate.hidden,
      deleted: sameBudget.byFate.deleted,
      aged_out: sameBudget.byFate.aged_out,
      open: sameBudget.byFate.open,
      precision: sameBudget.precision.value,
      recall: sameBudget.recall.value,
      harm: sameBudget.harm.value,
      lead_minutes: sameBudget.leadMinutes,
    },
  }
}

function estimateJson({ value, n, ci95 }: RankerFigures['rankPercentile']): object {
  return { mean: value, n, ci95 }
}

function timeOf(ms: number | null): string | null {
  return ms === null ? null : formatInstant(ms)
}
