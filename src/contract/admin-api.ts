/**
 * The JSON of the admin listener, member for member: `src/admin` writes these objects, the operators' page and
 * `understudy status` read them. It is not part of the clients' interface.
 */
import type { CounterName, HeadName } from './columns.js'
import type { HealthReason } from './health.js'
import type { CallProblem, Refusal } from './refusals.js'
import type { Warning, WarningCode } from './warnings.js'
import type { Candidate, Counts, CycleResponse, PostKey } from './wire.js'

/** A health check. One that fails makes the service not ready; a warning does not. */
export interface Check {
  readonly check: 'service' | 'model' | 'storage' | 'last_cycle' | 'clock' | 'disk'
  readonly status: 'ok' | 'warn' | 'fail'
  readonly reasons: readonly HealthReason[]
}

/** Posts by when they got their first score. */
export interface FirstScores {
  readonly on_time: number
  readonly late: number
  /** They were decided after the deadline without one. */
  readonly never: number
  /** Posts that are pending without a score although the cycle of their deadline has come. */
  readonly overdue: number
}

/** A response that is not 200. */
export interface AdminErrorRecord {
  /** `reason` is missing only for requests that cannot come from the page. */
  readonly error: { readonly code: string; readonly message: string; readonly reason?: Refusal }
}

/** One cycle, as a point of the charts. */
export interface CyclePoint {
  readonly cycle_id: string
  readonly cycle_time: string
  readonly received_at: string
  readonly is_late: boolean
  /** Time from the first byte of the request to the durable response. */
  readonly ms: number
  readonly stages_ms: Readonly<Record<string, number>>
  readonly pending: number
  readonly counts: Counts
  /** Results by status, and by reason if there is one. */
  readonly results: readonly {
    readonly status: string
    readonly reason: string | null
    readonly count: number
  }[]
  readonly missing_feature_share: number
  /** null: nothing was scored. */
  readonly score_quantiles: Readonly<Record<'p10' | 'p50' | 'p90' | 'p99', number>> | null
  readonly first_scores: FirstScores
  readonly model_version: string
  readonly weights_version: string
  readonly warning_kinds: readonly WarningCode[]
}

/** `/api/series`: the cycles since the start, at most a day of them, oldest first. */
export interface Series {
  readonly points: readonly CyclePoint[]
}

/** `ACTIVE` names the version of the active role, `SHADOW` those of the shadow role. */
export type VersionRole = 'active' | 'shadow'
/** `loading` ends when the users of models are ready for the version. */
export type VersionState = 'wanted' | 'loading' | 'serving' | 'shadow' | 'failed'

/** A version that `ACTIVE` or `SHADOW` names and that could not be loaded. */
export interface FailedVersion {
  readonly version: string
  /** `load`: it could not be loaded. `cycles`: it failed its cycles, and the version that served before has taken over. */
  readonly kind: 'load' | 'cycles'
  readonly role: VersionRole
  readonly problem: string
  readonly at: string
}

/** The cycle after the newest one. */
export interface NextCycle {
  readonly due_at: string
  /** After it, the cycle is overdue; null: cycles arrive far from their times, of a simulated or repeated past. */
  readonly overdue_from: string | null
}

/** `/api/now` */
export interface Now {
  readonly time: string
  readonly started_at: string
  readonly version: string
  readonly status: 'ok' | 'degraded'
  readonly checks: readonly Check[]
  readonly model: { readonly version: string; readonly kind: string; readonly provider: string } | null
  /** The version that is being loaded to serve; null: none, or it has failed before. */
  readonly loading_version: string | null
  readonly shadows: readonly string[]
  readonly failed_versions: readonly (FailedVersion & { readonly commands: readonly string[] })[]
  readonly weights_version: string
  readonly pending: number
  /** Null before the first cycle after the start. */
  readonly last_cycle: CyclePoint | null
  /** What sends a first cycle, with the paths of this service; null once one is stored. */
  readonly first_cycle_command: string | null
  readonly last_cycle_id: string | null
  readonly last_cycle_received_at: string | null
  /** Null: no cycle has come, so that none is due. */
  readonly next_cycle: NextCycle | null
  /** Counts of the last 24 hours. `share` is the share in time; null if there is none. */
  readonly first_scores: FirstScores & { readonly share: number | null; readonly target: number }
  readonly queue: {
    readonly cycles: number
    readonly cycles_max: number
    readonly texts: number
    readonly images: number
  }
  readonly storage: { readonly size_bytes: number | null; readonly free_bytes: number | null }
  readonly memory: { readonly resident_bytes: number; readonly heap_used_bytes: number }
}

type Counters = Readonly<Partial<Record<CounterName, number | null>>>

/** A stored image. */
export interface ImageFacts {
  readonly position: number
  /** The beginning of the SHA-256 of the upload, as hex digits. */
  readonly sha256: string
}

/** Scores of a post in the last cycle. Null before its first score. */
export interface ScoreFacts extends Readonly<Partial<Record<HeadName, number | null>>> {
  readonly score: number | null
  /** The rank among all pending posts that have a score. */
  readonly rank: number | null
  readonly status: string | null
  readonly reason: string | null
}

/** A pending post. */
export interface PostFacts extends PostKey, ScoreFacts {
  readonly source: string | null
  readonly created_at: string | null
  readonly extracted_at: string | null
  readonly age_s: number | null
  readonly observed_at: string | null
  /** Counters of the last reading. */
  readonly counters: Counters
  /** Change since the reading before it. */
  readonly rates_per_hour: Counters
  /** Its stored images; of a ranked post, the first one. */
  readonly images: readonly ImageFacts[]
}

export interface RankedPost extends PostFacts {
  readonly title: string | null
  /** Scores of the newest cycles, oldest first. */
  readonly sparkline: readonly (number | null)[]
}

/** A post that has left the pool. */
export interface LeftPost extends PostKey {
  /** The cycle that reported it. */
  readonly cycle_id: string
  /** Null if the record of its entry has expired. */
  readonly title: string | null
  readonly reason: string
  readonly tier: string | null
  readonly decided_at: string
}

/** `/api/left`: those of the newest cycles whose title, gallery or number matches, newest first. */
export interface LeftPosts {
  readonly posts: readonly LeftPost[]
  /** Number of matches, also those beyond the limit of the request. */
  readonly matching: number
  /** What was searched through. */
  readonly searched: number
}

/** A post that an operator saved, with its score and rank one cycle before. */
export interface Save extends PostKey {
  readonly cycle_id: string
  /** Null if it is not known. */
  readonly title: string | null
  readonly tier: string | null
  readonly score: number | null
  readonly rank: number | null
  /** Posts that had a score then. */
  readonly of: number
}

/** `/api/picks` */
export interface Picks {
  readonly cycle_id: string | null
  readonly model_version: string | null
  readonly weights_version: string | null
  readonly pending: number
  readonly scored: number
  readonly matching: number
  readonly offset: number
  readonly galleries: readonly string[]
  readonly picks: readonly RankedPost[]
  /** Saves since the start. */
  readonly saves: readonly Save[]
  readonly started_at: string
}

export interface TimelineEntry {
  readonly cycle_id: string
  readonly cycle_time: string
  readonly model_version: string
  readonly score: number | null
  readonly rank: number | null
  readonly of: number
  readonly counters: Counters
}

/** `/api/posts/{gall_id}/{post_no}` */
export interface PostDetails extends PostFacts {
  readonly snapshot: Readonly<Record<string, number | null>>
  readonly timeline: readonly TimelineEntry[]
  readonly candidate: Candidate
}

/** A request of the flight recorder. */
export interface CallRecord {
  /** Increases with each call since the start. */
  readonly id: number
  readonly at: string
  readonly method: string
  readonly path: string
  readonly operation: string | null
  /** 0: the client disconnected before the response. */
  readonly status: number
  readonly result: 'scored' | 'repeated' | 'done' | 'refused' | 'failed' | 'aborted'
  readonly cycle_id: string | null
  readonly code: string | null
  readonly problem: CallProblem | null
  readonly ms: number
  readonly stages_ms: Readonly<Record<string, number>>
  readonly counts: Counts | null
  readonly warnings: readonly Warning[]
  readonly is_late: boolean
  readonly model_version: string | null
  readonly weights_version: string | null
  readonly bytes_in: number
  readonly bytes_out: number
  readonly trace_id: string | null
}

/** The event `call`. */
export type CallEvent = CallRecord & { readonly instance: string }

/** The events of `/api/events` with their data. */
export interface AdminEvents {
  readonly cycle: CyclePoint
  readonly call: CallEvent
  readonly status: { readonly checks: readonly Check[] }
  readonly models: object
  /** Events were lost, and the page reads everything again. */
  readonly reset: object
  /** The stream works; a page that misses two of them connects again. */
  readonly heartbeat: { readonly time: string; readonly interval_ms: number }
}

/** `/api/cycles`: a part of a list, newest first. */
export interface ListPage<Item> {
  /** Identifies the service's process: the ids of calls start again in the next one. */
  readonly instance: string
  readonly items: readonly Item[]
  /** Nothing older follows. */
  readonly is_last: boolean
}

export interface ListedCycle {
  readonly position: number
  readonly cycleId: string
  /** RFC 3339. */
  readonly receivedAt: string
  readonly modelVersion: string
  readonly weightsVersion: string
}

/** Positions are consecutive. */
export interface StoredPage extends ListPage<ListedCycle> {
  readonly oldest: number
  /** Smaller than `oldest`: nothing is stored. */
  readonly newest: number
}

/** `/api/cycles/{cycle_id}`: a stored response, its results counted by reason. */
export interface StoredResponse extends Omit<CycleResponse, 'results' | 'warnings'> {
  readonly warnings: readonly Warning[]
  readonly reasons: readonly { readonly reason: string; readonly count: number }[]
}

export interface ModelUse {
  readonly role: VersionRole
  readonly state: VersionState
  readonly provider: string | null
}

export interface ModelFacts {
  readonly version: string
  readonly uses: readonly ModelUse[]
  readonly failure: FailedVersion | null
  /** How its files on disk differ from those that the server has loaded; null: they do not, or it is not loaded. */
  readonly changed: string | null
  /** Why the package cannot be read; the members below are then missing. */
  readonly problem: string | null
  readonly kind?: string
  readonly provenance?: Readonly<Record<string, string>> | null
  readonly note?: string | null
  readonly heads?: readonly string[]
  readonly features?: readonly string[]
  readonly reads?: readonly string[]
  /** Memory of its processes; null: none runs, or the system does not report it. */
  readonly memory_bytes: number | null
  /** Time of features and inference in the cycles that it scored; null: there is none since the start. */
  readonly predict_ms: { readonly cycles: number; readonly p50: number; readonly p99: number } | null
  /** Command lines to copy. */
  readonly commands: Readonly<Record<'verify' | 'inspect' | 'shadow' | 'activate', string>>
}

/** `/api/models` */
export interface Models {
  readonly serving: string | null
  /**
   * `version` serves instead of `failed`, which failed its cycles, until `ACTIVE` names another one, or which cannot be loaded,
   * until it can; null: no version has been replaced.
   */
  readonly fallback: {
    readonly version: string
    readonly failed: string
    readonly cause: 'cycles' | 'load'
    readonly problem: string
    readonly at: string
  } | null
  /** A rollback leads to the version of the cycles before the serving one. Null if there is none to activate. */
  readonly previous: string | null
  readonly models_dir: string
  /** Why the packages in `models_dir` cannot be listed; null: they can. */
  readonly problem: string | null
  readonly shadow_cycles_skipped: number
  readonly models: readonly ModelFacts[]
}
