/**
 * What the admin listener sends, member for member, and how it is asked. `src/admin` writes these objects; the browser tests
 * run against it, so a difference shows there.
 */
import type { Candidate, Counts, CounterName, CycleResponse, HeadName } from '../../contract/index.js'

export interface Check {
  readonly check: string
  readonly status: 'ok' | 'warn' | 'fail'
  readonly reason: string
}

export interface FirstScores {
  readonly on_time: number
  readonly late: number
  readonly never: number
  readonly overdue: number
}

export interface CyclePoint {
  readonly cycle_id: string
  readonly cycle_time: string
  readonly received_at: string
  readonly is_late: boolean
  readonly ms: number
  readonly stages_ms: Readonly<Record<string, number>>
  readonly pending: number
  readonly counts: Counts
  readonly results: readonly {
    readonly status: string
    readonly reason: string | null
    readonly count: number
  }[]
  readonly missing_feature_share: number
  readonly score_quantiles: Readonly<Record<'p10' | 'p50' | 'p90' | 'p99', number>> | null
  readonly first_scores: FirstScores
  readonly model_version: string
  readonly weights_version: string
  readonly warning_kinds: readonly string[]
}

/** A version that `ACTIVE` or `SHADOW` names and that could not be loaded. */
export interface FailedVersion {
  readonly version: string
  readonly role: 'active' | 'shadow'
  readonly problem: string
  readonly at: string
}

export interface Now {
  readonly time: string
  readonly started_at: string
  readonly version: string
  readonly status: 'ok' | 'degraded'
  readonly checks: readonly Check[]
  readonly model: { readonly version: string; readonly kind: string; readonly provider: string } | null
  readonly shadows: readonly string[]
  readonly failed_versions: readonly (FailedVersion & { readonly commands: readonly string[] })[]
  readonly weights_version: string
  readonly pending: number
  readonly last_cycle: CyclePoint | null
  readonly last_cycle_id: string | null
  readonly last_cycle_received_at: string | null
  readonly next_cycle_due_at: string | null
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

export interface Series {
  readonly points: readonly CyclePoint[]
}

type Counters = Readonly<Partial<Record<CounterName, number | null>>>

export interface ImageFacts {
  readonly position: number
  readonly sha256: string
}

/** A pending post. The heads that the model lacks are null, and missing before its first score. */
export interface PostFacts extends Readonly<Partial<Record<HeadName, number | null>>> {
  readonly gall_id: string
  readonly post_no: number
  readonly source: string | null
  readonly created_at: string | null
  readonly extracted_at: string | null
  readonly age_s: number | null
  readonly observed_at: string | null
  readonly counters: Counters
  readonly rates_per_hour: Counters
  readonly score: number | null
  /** Among all pending posts that have a score. */
  readonly rank: number | null
  readonly status: string | null
  readonly reason: string | null
  /** Its stored images; of a pick, the first one. */
  readonly images: readonly ImageFacts[]
}

export interface Pick extends PostFacts {
  readonly title: string | null
  /** Scores of the newest cycles, oldest first. */
  readonly sparkline: readonly (number | null)[]
}

export interface Save {
  readonly cycle_id: string
  readonly gall_id: string
  readonly post_no: number
  readonly tier: string | null
  readonly score: number | null
  readonly rank: number | null
  readonly of: number
}

export interface Picks {
  readonly cycle_id: string | null
  readonly model_version: string | null
  readonly weights_version: string | null
  readonly pending: number
  readonly scored: number
  readonly matching: number
  readonly offset: number
  readonly galleries: readonly string[]
  readonly picks: readonly Pick[]
  /** Since the start. */
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

export interface Post extends PostFacts {
  readonly snapshot_at: string | null
  readonly snapshot: Readonly<Record<string, number | null>>
  readonly timeline: readonly TimelineEntry[]
  readonly candidate: Candidate
}

export interface Call {
  readonly id: number
  readonly at: string
  readonly method: string
  readonly path: string
  readonly operation: string | null
  readonly status: number
  readonly result: 'scored' | 'repeated' | 'done' | 'refused' | 'failed' | 'aborted'
  readonly cycle_id: string | null
  readonly code: string | null
  readonly problem: string | null
  readonly ms: number
  readonly stages_ms: Readonly<Record<string, number>>
  readonly counts: Counts | null
  readonly warnings: readonly string[]
  readonly is_late: boolean
  readonly model_version: string | null
  readonly weights_version: string | null
  readonly bytes_in: number
  readonly bytes_out: number
  readonly trace_id: string | null
}

export type CallEvent = Call & { readonly instance: string }

export interface StoredCycle {
  readonly position: number
  readonly cycleId: string
  readonly receivedAt: string
  readonly modelVersion: string
  readonly weightsVersion: string
}

/** The response of a stored cycle, its results counted by reason. */
export interface StoredResponse extends Omit<CycleResponse, 'results'> {
  readonly reasons: readonly { readonly reason: string; readonly count: number }[]
}

/** A part of a list, newest first. */
export interface ListPage<Item> {
  /** Identifies the service's process: the ids of calls start again in the next one. */
  readonly instance: string
  readonly items: readonly Item[]
  /** Nothing older follows. */
  readonly is_last: boolean
}

/** Positions are consecutive. */
export interface StoredPage extends ListPage<StoredCycle> {
  readonly oldest: number
  /** Smaller than `oldest`: nothing is stored. */
  readonly newest: number
}

export interface ModelUse {
  readonly role: 'active' | 'shadow'
  readonly state: 'wanted' | 'loading' | 'serving' | 'shadow' | 'failed'
  readonly provider: string | null
}

export interface ModelFacts {
  readonly version: string
  readonly uses: readonly ModelUse[]
  readonly failure: FailedVersion | null
  /** Why the package cannot be read; the members below are then missing. */
  readonly problem: string | null
  readonly kind?: string
  readonly provenance?: Readonly<Record<string, string>> | null
  readonly note?: string | null
  readonly heads?: readonly string[]
  readonly features?: readonly string[]
  readonly reads?: readonly string[]
  /** Of its processes. */
  readonly memory_bytes: number | null
  readonly predict_ms: { readonly cycles: number; readonly p50: number; readonly p99: number } | null
  readonly commands: Readonly<Record<'verify' | 'inspect' | 'shadow' | 'activate', string>>
}

export interface Models {
  readonly serving: string | null
  /** Where a rollback leads. */
  readonly previous: string | null
  readonly models_dir: string
  readonly shadow_cycles_skipped: number
  readonly models: readonly ModelFacts[]
}

/** A response that is not 200. `status` 0: no response arrived. */
export class ApiError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }

  /** The same request may succeed later. */
  get isTemporary(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500
  }
}

export function apiErrorOf(thrown: unknown): ApiError {
  return thrown instanceof ApiError ? thrown : new ApiError(0, String(thrown))
}

/** For a whole response. The service itself waits up to 20 s for a command before it responds that it is in progress. */
export const queryTimeoutMs = 25_000
/** How long a reader waits before it asks again for what the service still computes. */
const inProgressMs = 1000

/** Rejects with an `ApiError`, or with an `AbortError` after an abort. Waits for what takes the service long. */
export async function getJson<T>(path: string, signal: AbortSignal): Promise<T> {
  const timeout = AbortSignal.timeout(queryTimeoutMs)
  try {
    const response = await fetch(path, {
      headers: { Accept: 'application/json' },
      cache: 'no-store',
      signal: AbortSignal.any([signal, timeout]),
    })
    if (!response.ok) throw new ApiError(response.status, await messageOf(response))
    const json = (await response.json()) as T
    if (response.status !== 202) return json
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof ApiError) throw error
    const isLate = timeout.aborted ? ` within ${queryTimeoutMs / 1000} s` : ''
    throw new ApiError(0, `the service does not answer${isLate}`)
  }
  await new Promise((resolve) => setTimeout(resolve, inProgressMs))
  signal.throwIfAborted()
  return getJson(path, signal)
}

async function messageOf(response: Response): Promise<string> {
  try {
    const { error } = (await response.json()) as { readonly error: { readonly message: string } }
    return error.message
  } catch {
    return `the service answers with status ${response.status}`
  }
}

export function postPath(gallId: string, postNo: number): string {
  return `/api/posts/${encodeURIComponent(gallId)}/${postNo}`
}
