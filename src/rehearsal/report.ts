/**
 * What a rehearsal tells: while it runs, and when it is over.
 */

/** Where a rehearsal stands after a cycle. */
export interface RehearsalProgress {
  readonly cycleId: string
  /** Simulated time, milliseconds since 1970. */
  readonly cycleAtMs: number
  /** Cycles done, and cycles in all. */
  readonly cycleIndex: number
  readonly cycleCount: number
  /** This client's pending posts. */
  readonly pending: number
  /** Posts scored in the last cycle. */
  readonly scored: number
  /** How long `POST /v1/cycles` took, from the first byte sent to the last received. */
  readonly postMs: { readonly last: number; readonly p50: number; readonly p99: number }
  /** Uploads of images, those included that found the same image stored. */
  readonly imagesUploaded: number
  readonly retries: number
  readonly bytesSent: number
  /** Since the first cycle began; the search for free cycles is not in it. */
  readonly wallMs: number
}

/** A post as the last answer ranks it. */
export interface TopPost {
  readonly gall_id: string
  /** `gall_id` without the tag of this rehearsal. */
  readonly gallery: string
  readonly post_no: number
  readonly title: string
  readonly score: number
}

/** A rehearsal that went to its end; no answer broke the contract. */
export interface RehearsalReport {
  readonly seed: number | string
  /** Simulated time that was gone through, milliseconds since 1970. */
  readonly startAtMs: number
  readonly endAtMs: number
  /** An earlier rehearsal was found on the service and gone through again. */
  readonly resumed: boolean
  readonly modelVersion: string
  readonly weightsVersion: string
  readonly totals: RehearsalTotals
  /** How long `POST /v1/cycles` took, in ms, from the first byte sent to the last received. */
  readonly postMs: {
    readonly count: number
    readonly p50: number
    readonly p90: number
    readonly p99: number
    readonly max: number
  }
  readonly wallMs: number
  /** The ten posts with the highest score in the last answer, best first. */
  readonly top: readonly TopPost[]
}

/** Counts of what was sent, what came back and what went wrong on purpose. */
export interface RehearsalTotals {
  cycles: number
  /** Cycles that the service had answered before this client came. */
  cyclesStoredBefore: number
  candidates: number
  engagementRows: number
  snapshots: number
  removals: number
  saved: number
  /** Result rows, all cycles together. */
  scored: number
  waiting: number
  notScored: number
  imagesCreated: number
  /** Uploads that found the same image stored. */
  imagesRepeated: number
  outcomes: number
  /** Calls sent again, or twice at once, or dropped, on purpose; each had to change nothing. */
  mishaps: number
  restarts: number
  /** Stored answers read again and found unchanged. */
  answersReread: number
  /** Attempts beyond the first, because the service was away. */
  retries: number
  bytesSent: number
}

export function emptyTotals(): RehearsalTotals {
  return {
    cycles: 0,
    cyclesStoredBefore: 0,
    candidates: 0,
    engagementRows: 0,
    snapshots: 0,
    removals: 0,
    saved: 0,
    scored: 0,
    waiting: 0,
    notScored: 0,
    imagesCreated: 0,
    imagesRepeated: 0,
    outcomes: 0,
    mishaps: 0,
    restarts: 0,
    answersReread: 0,
    retries: 0,
    bytesSent: 0,
  }
}
