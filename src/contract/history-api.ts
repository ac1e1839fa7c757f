/**
 * What `src/history` finds in the stored cycles, member for member as `report`, `explain` and `models compare` print it with
 * `--json` and as the admin listener sends it. Times are RFC 3339; what cannot be computed is null, never 0.
 * docs/evaluation.md and docs/explain.md define the figures.
 */
import type { ImageFacts } from './admin-api.js'
import type { HeadName } from './columns.js'
import type { ShownInput } from './input-words.js'
import type { Candidate, EngagementRow, PostKey, ResultRow, Weights } from './wire.js'

/** 95 %. */
export type Interval = readonly [low: number, high: number]

/** A mean or a share, and how many values it is computed from. */
export interface Estimate {
  readonly mean: number | null
  readonly n: number
  readonly ci95: Interval | null
}

/** How a stay in the pool ended. */
export type Fate = 'open' | 'saved' | 'hidden' | 'deleted' | 'aged_out'

/** `understudy report` */
export interface Report {
  readonly window: ReportWindow
  readonly visits: Readonly<Record<Fate | 'total' | 'unranked_saved', number>>
  /** The model first, then other versions, then the baselines. */
  readonly rankers: readonly Ranker[]
  /** The model against each other ranker, then each version against each baseline, then each pair of versions. */
  readonly differences: readonly Difference[]
  readonly first_score: FirstScoreFigures
  readonly outcomes: OutcomeFigures
  /** Figures of the model. */
  readonly by: Readonly<Record<GroupKind, readonly Group[]>>
}

export interface ReportWindow {
  /** Times of the first and the last cycle. */
  readonly from: string | null
  readonly to: string | null
  readonly cycles: number
  /** KST days with a cycle. */
  readonly days: number
  /** What the bootstrap draws. */
  readonly unit: 'day' | 'cycle'
  /** `model_version / weights_version` that served, in order of their first cycle. */
  readonly versions: readonly string[]
  /** The cycle of the window that arrived last; null in an empty window. */
  readonly last_hash: CycleHash | null
}

/** A cycle and its hash, which depends on all cycles up to it: see docs/data.md. */
export interface CycleHash {
  readonly cycle_id: string
  readonly hash: string
}

/** An order of the posts. */
export interface Ranker {
  readonly name: string
  /** The versions whose scores it has; none for a baseline. */
  readonly versions: readonly string[]
  /** Cycles with scores of the ranker. */
  readonly cycles: number
  readonly rank_percentile: Estimate
  /** Saved visits whose decision cycle has no negatives. */
  readonly without_negatives: number
  readonly saved_in_top: ByDepth<number>
  readonly saved_in_top_ci95: ByDepth<Interval>
  readonly ndcg: ByDepth<number>
  readonly ndcg_ci95: ByDepth<Interval>
  readonly auc_first: number | null
  readonly auc_last: number | null
  readonly average_precision_last: number | null
  readonly same_budget: BudgetFigures
}

export type ByDepth<Value> = Readonly<Record<number, Value | null>>

export interface BudgetFigures extends Readonly<Record<Fate | 'picks', number>> {
  readonly precision: number | null
  readonly recall: number | null
  readonly harm: number | null
  readonly ci95: Readonly<Record<'precision' | 'recall' | 'harm', Interval | null>>
  readonly lead_minutes: Readonly<Record<'p10' | 'p50' | 'p90', number | null>>
}

export type Verdict = 'better' | 'worse' | 'cannot be told apart'

/** Mean difference of rank percentiles, a minus b, over the visits that both ranked. */
export interface Difference extends Estimate {
  readonly a: string
  readonly b: string
  readonly verdict: Verdict | null
  /** Further days for a verdict if the difference persists; 0 if there is one, null if no number suffices. */
  readonly more_days: number | null
}

export type GroupKind = 'gallery' | 'tier' | 'source' | 'gallery_type' | 'hour' | 'version'

export interface Group {
  /** Null for visits of which it is not known. An hour has two digits; a version is `model_version / weights_version`. */
  readonly value: string | null
  readonly visits: number
  readonly saved: number
  readonly picks: number
  readonly picked_saved: number
  readonly rank_percentile: Estimate
  readonly precision: number | null
  readonly recall: number | null
}

export type FirstScore = 'excluded' | 'on_time' | 'late' | 'never'

export interface FirstScoreFigures extends Readonly<Record<FirstScore, number>> {
  readonly share: number | null
  readonly target: number
  /** Numbers of `late` and `never`, by reason. */
  readonly reasons: Readonly<Record<string, number>>
  readonly worst: readonly LateVisit[]
}

/** A visit whose first score came late or never. */
export interface LateVisit {
  readonly gall_id: string | null
  readonly post_no: number | null
  readonly result: 'late' | 'never'
  readonly extracted_at: string
  readonly deadline: string
  readonly first_scored_at: string | null
  /** Up to the first score, or to the decision, or to the end of the window. */
  readonly minutes_late: number
  /** Status or reason of the latest result up to the deadline; `no_cycle` if no cycle had a result. */
  readonly reason: string
}

export interface OutcomeFigures {
  readonly placements: number
  readonly by_picker: readonly PickerFigures[]
  /** Spearman's correlation of `score_at_placement` with each counter; `n` counts placements with a score and a reading. */
  readonly score_correlation: readonly AgeFigures[]
}

export interface PickerFigures {
  readonly picked_by: 'operator' | 'model'
  readonly model_version: string | null
  readonly placements: number
  readonly hidden_share: number
  readonly deleted_share: number
  /** Medians. */
  readonly ages: readonly AgeFigures[]
}

export interface AgeFigures extends Readonly<Record<'views' | 'up' | 'down' | 'comment_cnt', number | null>> {
  readonly age_h: number
  /** Placements with a reading at this age. */
  readonly n: number
}

/** `understudy models compare` */
export interface Comparison {
  readonly first: string
  readonly second: string
  readonly cycles: {
    readonly count: number
    readonly from: string
    readonly to: string
    /** Cycles of `count` without scored posts; no figure includes them. */
    readonly without_scored_posts: number
  }
  /** Scores of each version; a post has one in each cycle that scored it. */
  readonly scores: number
  /** Distinct posts. */
  readonly posts: number
  /** Number of cycles by the source of their scores. */
  readonly sources: Both<Readonly<Record<ScoreSource, number>>>
  /** Heads that have a weight in these cycles and that a version lacks. */
  readonly lacking_heads: Both<readonly HeadName[]>
  /** Texts and images that a replay skipped because they crash the encoder. */
  readonly skipped: Both<Readonly<Record<'texts' | 'images', number>>>
  /** All scores as one list; null if there are none. */
  readonly pooled: Both<ScoreFigures> | null
  /** Medians over the cycles that have the figure. */
  readonly median: AgreementFigures | null
  readonly per_cycle: readonly ComparedCycle[]
  readonly movers: readonly MoverFigures[]
  /** How each version ranks the posts that the operators saved. */
  readonly quality: Both<Ranker> & { readonly difference: Difference }
}

export type Both<Value> = Readonly<Record<'first' | 'second', Value>>

/** Where a version's scores of a cycle come from. */
export type ScoreSource = 'response' | 'shadow' | 'replay'

export interface ScoreFigures {
  readonly distinct_scores: number
  readonly mean: number
  /** By share. */
  readonly quantiles: Readonly<Record<string, number>>
}

/** How much two versions agree. */
export interface AgreementFigures {
  /** Spearman's rank correlation, ties sharing their mean rank; null if one side ranks all posts the same. */
  readonly rank_correlation: number | null
  /**
   * By depth: share of the first version's best that are among the second's; null for fewer posts, and if one side ranks
   * all posts the same.
   */
  readonly overlap: Readonly<Record<string, number | null>>
  /** Second minus first: distinguishes a shift of all scores from a change of order. */
  readonly mean_signed_difference: number | null
  readonly mean_absolute_difference: number | null
}

export interface ComparedCycle extends AgreementFigures {
  readonly cycle_id: string
  readonly posts: number
  readonly weights_version: string
  readonly first_source: ScoreSource
  readonly second_source: ScoreSource
}

/** A post, in the cycle in which its two ranks differ most. Ranks count from 1, the best; ties share their mean rank. */
export interface MoverFigures extends PostKey {
  /** Null if the record of its entry has expired. */
  readonly title: string | null
  readonly cycle_id: string
  readonly posts: number
  readonly first_rank: number
  readonly second_rank: number
  readonly first_score: number
  readonly second_score: number
}

/** `understudy explain` */
export interface Explanation extends PostKey {
  /** As received with the visit that is explained; its body only with `--texts`. Null: the record has expired. */
  readonly candidate: Omit<Candidate, 'gall_id' | 'post_no'> | null
  /** The newest counters of the visit in the stored cycles. Null: none of its last cycles has any. */
  readonly last_reading: Omit<EngagementRow, 'gall_id' | 'post_no' | 'status'> | null
  /** With the whole SHA-256. */
  readonly images: readonly ImageFacts[]
  readonly visits: readonly VisitSummary[]
  /** Index of the visit that is explained. */
  readonly visit: number
  /** Cycles of that visit, in order of `cycle_time`. */
  readonly cycles: readonly CycleSummary[]
  /** Null if no cycle of the visit scored the post. */
  readonly explained: ExplainedCycle | null
  readonly against: ExplainedAgainst | null
  /** As stored, with the time of the last report. */
  readonly outcomes: readonly Readonly<Record<string, unknown>>[]
}

export interface VisitSummary {
  /** Null if the cycle that brought the post has expired. */
  readonly entered_cycle: string | null
  /** Null while the post is pending. */
  readonly left_cycle: string | null
  readonly fate: string
  readonly tier: string | null
  readonly decided_at: string | null
  /** Arrival of the cycle that reported the removal: it was not known earlier. */
  readonly known_at: string | null
}

/** The result of a post in one cycle. */
export interface CycleSummary {
  readonly cycle_id: string
  readonly status: ResultRow['status']
  readonly reason: ResultRow['reason'] | null
  readonly score: number | null
  /** 1 for the highest score of the cycle; ties share their average rank. Null if the post is not scored. */
  readonly rank: number | null
  /** Scored posts of the cycle. */
  readonly scored: number
  readonly heads: Readonly<Partial<Record<HeadName, number>>>
  readonly weights_version: string
  readonly model_version: string
}

export interface ExplainedCycle extends CycleSummary {
  readonly weights: Weights
  /** Computed now from the recorded inputs; null without the model. */
  readonly score_now: number | null
  /** Why no change of the score is known: the model cannot be loaded. */
  readonly problem: string | null
  /** Largest effect first: compared with the median, or with a missing value if there is no median. */
  readonly inputs: readonly ExplainedInput[]
}

export type InputKind = 'feature' | 'text' | 'image' | 'gallery'

/** An input of the model and what its value adds to the score: the score minus that with the value replaced. */
export interface ExplainedInput {
  readonly kind: InputKind
  readonly shown: ShownInput
  /** Name of the feature; `text`, `image` or `gallery_index`. */
  readonly name: string
  /** Null if missing, and for texts and images. Of a gallery its index in the manifest; one that is not in the list is missing. */
  readonly value: number | null
  readonly missing: boolean
  /** Share of the pool's present values below this one, plus half of those equal to it. */
  readonly percentile: number | null
  /** Median of the pool's present values; null for texts, images and galleries. */
  readonly median: number | null
  /** Compared with the pool's median; null if no post of the pool has a value. */
  readonly over_median: number | null
  /** Compared with a missing value; null if the input is missing, and for a feature that is never missing. */
  readonly over_missing: number | null
}

export interface ExplainedAgainst extends CycleSummary {
  readonly weights: Weights
  readonly problem: string | null
  /** From this cycle to the explained one; null without the models. */
  readonly change: ExplainedChange | null
}

/**
 * The change of a score in three steps that add up: the later inputs replace the earlier ones, then the weights, then the
 * model. Inputs interact, so that the changes of single inputs need not add up to that of all.
 */
export interface ExplainedChange {
  readonly from_score: number
  readonly to_score: number
  readonly by_inputs: number
  readonly by_weights: number
  readonly by_model: number
  /** Largest change first. */
  readonly inputs: readonly ChangedInput[]
}

/** An input that differs between two cycles. */
export interface ChangedInput {
  readonly kind: InputKind
  readonly name: string
  /** Null if missing, and for texts and images. */
  readonly from: number | null
  readonly to: number | null
  /** Change of the earlier inputs' score, when only this input changes. */
  readonly change: number
}

/** `understudy models verify` */
export interface VerificationReport {
  readonly version: string
  /** Null if the manifest could not be read. */
  readonly kind: string | null
  /** The provider that served; null: none did. */
  readonly provider: string | null
  /** No check has failed. */
  readonly passed: boolean
  readonly checks: readonly CheckLine[]
}

export interface CheckLine {
  readonly check: string
  /** warn: no problem, but something is unproven. skip: not applicable, or a check that this one needs has failed. */
  readonly state: 'pass' | 'warn' | 'fail' | 'skip'
  /** A whole sentence for the model's author. */
  readonly sentence: string
}
