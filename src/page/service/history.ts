/**
 * Reports that the service computes from stored cycles: the JSON of `understudy report` (docs/evaluation.md) and of `understudy explain`
 * (docs/explain.md), as far as the page shows it.
 */
import type { Candidate, EngagementRow, ImageFacts, Weights } from '../../contract/index.js'

export type Interval = readonly [low: number, high: number]
type Outcomes = Readonly<Record<'open' | 'saved' | 'hidden' | 'deleted' | 'aged_out', number>>

export interface Estimate {
  readonly mean: number | null
  readonly n: number
  readonly ci95: Interval | null
}

export interface Ranker {
  readonly name: string
  readonly rank_percentile: Estimate
  readonly same_budget: Outcomes & {
    readonly picks: number
    readonly precision: number | null
    readonly recall: number | null
    readonly harm: number | null
    readonly ci95: Readonly<Record<'precision' | 'recall' | 'harm', Interval | null>>
    readonly lead_minutes: { readonly p50: number | null }
  }
}

export interface Difference extends Estimate {
  readonly a: string
  readonly b: string
  readonly verdict: 'better' | 'worse' | 'cannot be told apart' | null
  readonly more_days: number | null
}

export interface Group {
  readonly value: string | null
  readonly visits: number
  readonly saved: number
  readonly picks: number
  readonly picked_saved: number
  readonly rank_percentile: Estimate
  readonly precision: number | null
  readonly recall: number | null
}

export interface Offender {
  readonly gall_id: string | null
  readonly post_no: number | null
  readonly result: 'late' | 'never'
  readonly extracted_at: string | null
  readonly first_scored_at: string | null
  readonly minutes_late: number
  readonly reason: string
}

export interface Report {
  readonly window: {
    readonly from: string | null
    readonly to: string | null
    readonly cycles: number
    readonly days: number
    readonly versions: readonly string[]
  }
  readonly visits: Outcomes & { readonly total: number }
  readonly rankers: readonly Ranker[]
  readonly differences: readonly Difference[]
  readonly first_score: {
    readonly on_time: number
    readonly late: number
    readonly never: number
    readonly excluded: number
    readonly share: number | null
    readonly target: number
    readonly reasons: Readonly<Record<string, number>>
    readonly worst: readonly Offender[]
  }
  readonly by: Readonly<Record<string, readonly Group[]>>
}

/** What `models verify` found. */
export interface Checks {
  readonly checks: readonly {
    readonly check: string
    readonly state: 'pass' | 'warn' | 'fail' | 'skip'
    readonly sentence: string
  }[]
}

/** What `models compare` found, between the serving version and another one. */
export interface Comparison {
  readonly cycles: { readonly count: number; readonly from: string; readonly to: string }
  readonly posts: number
  /** Medians over the cycles. */
  readonly median: {
    readonly rank_correlation: number | null
    /** By depth: share of the best posts of the one that are among the best of the other. */
    readonly overlap: Readonly<Record<string, number | null>>
    readonly mean_absolute_difference: number | null
  } | null
  /** Null without cycles that both scored. */
  readonly quality: {
    readonly first: Ranker
    readonly second: Ranker
    readonly difference: Difference
  } | null
}

export interface Visit {
  readonly entered_cycle: string | null
  readonly left_cycle: string | null
  readonly fate: string
  readonly tier: string | null
  readonly decided_at: string | null
  readonly known_at: string | null
}

export interface VisitCycle {
  readonly cycle_id: string
  readonly status: string
  readonly reason: string | null
  readonly score: number | null
  readonly rank: number | null
  readonly scored: number
  readonly weights_version: string
  readonly model_version: string
}

export interface ExplainedInput {
  readonly name: string
  readonly value: number | null
  readonly missing: boolean
  readonly percentile: number | null
  readonly median: number | null
  readonly to_median: number | null
  readonly to_missing: number | null
}

export interface Explanation {
  /** Null: the record has expired. */
  readonly candidate: Omit<Candidate, 'gall_id' | 'post_no'> | null
  readonly last_reading: Omit<EngagementRow, 'gall_id' | 'post_no' | 'status'> | null
  readonly images: readonly ImageFacts[]
  readonly visits: readonly Visit[]
  readonly visit: number
  readonly cycles: readonly VisitCycle[]
  readonly explained:
    | (VisitCycle & {
        readonly weights: Weights
        readonly problem: string | null
        readonly inputs: readonly ExplainedInput[]
      })
    | null
}
