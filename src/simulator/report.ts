/**
 * What a simulation reports: its progress after each cycle, and its results at the end.
 */

export interface SimulationProgress {
  /** Simulated time, milliseconds since 1970. */
  readonly cycleAtMs: number
  /** Cycles done, and cycles in all. */
  readonly cycleIndex: number
  readonly cycleCount: number
  /** Pending posts of this client. */
  readonly pending: number
  /** Posts scored in the last cycle. */
  readonly scored: number
  /** Duration of `POST /v1/cycles`, from the first byte sent to the last received. */
  readonly postMs: Readonly<Record<'p50' | 'p99', number>>
  /** Image uploads, including those of images that were already stored. */
  readonly imagesUploaded: number
  readonly retries: number
  /** Starts with the first cycle; excludes the search for free cycles. */
  readonly wallMs: number
}

/** A post as the last response ranks it. */
export interface TopPost {
  readonly gall_id: string
  readonly post_no: number
  readonly title: string
  readonly score: number
}

/** A finished simulation; no response violated the contract. */
export interface SimulationReport {
  readonly seed: number | string
  /** The simulated period, milliseconds since 1970. */
  readonly startAtMs: number
  readonly endAtMs: number
  /** Pending posts that the last cycle removed. */
  readonly postsRemoved: number
  readonly modelVersion: string
  readonly weightsVersion: string
  readonly totals: SimulationTotals
  /** Duration of `POST /v1/cycles` in ms, from the first byte sent to the last received. */
  readonly postMs: Readonly<Record<'count' | 'p50' | 'p90' | 'p99' | 'max', number>>
  readonly wallMs: number
  /** The ten posts with the highest score in the last response with scores, best first. */
  readonly top: readonly TopPost[]
}

export const zeroTotals = {
  cycles: 0,
  /** Cycles that the service had processed before this client connected. */
  cyclesStoredBefore: 0,
  candidates: 0,
  engagementRows: 0,
  snapshots: 0,
  removals: 0,
  saved: 0,
  /** Result rows of all cycles. */
  scored: 0,
  waiting: 0,
  notScored: 0,
  imagesCreated: 0,
  /** Uploads of images that the service had already stored. */
  imagesRepeated: 0,
  outcomes: 0,
  /** Calls repeated, duplicated or aborted on purpose; none may change a response. */
  faults: 0,
  restarts: 0,
  /** Stored responses read again and found unchanged. */
  responsesReread: 0,
  /** Attempts beyond the first of a call, because the service was unavailable. */
  retries: 0,
  bytesSent: 0,
}

/** Counts of what was sent, received and injected. */
export type SimulationTotals = typeof zeroTotals
