/**
 * A cycle of the past as columns, whatever it is read from: the evaluation record, which outlives the bodies, or the
 * bodies of a cycle that an earlier version stored. Report, explain and export read cycles in this form.
 *
 * A post has a number within one reader, and so has an entry: one candidate row as a request brought it. A post that
 * comes back has one number and two entries.
 */
import type { StoredCycle } from '../../store/index.js'

/** Grows while cycles are read. Arrays have spare capacity; only indexes below `count` are valid. */
export interface PastPosts {
  readonly count: number
  /** Null for a post of which no stored record has the name: only its place in an expired record is known. */
  gallId(post: number): string | null
  postNo(post: number): number | null
  /** Of a post that a cycle read so far names. */
  find(gallId: string, postNo: number): number | undefined
}

export interface PastEntries {
  readonly count: number
  post(entry: number): number
  /** Store position of the cycle that brought the candidate. */
  position(entry: number): number
  /** Milliseconds since 1970 with a fraction; NaN for null and for an entry whose record has expired. */
  createdMs(entry: number): number
  extractedMs(entry: number): number
  /** Index in `sourceCodes`; `absentCode` where unknown. */
  source(entry: number): number
  /** Index in `galleryTypeCodes`; `absentCode` where absent. */
  galleryType(entry: number): number
}

/** Distinct candidates of the request, those that entered first. */
export interface PastCandidates {
  readonly count: number
  readonly entry: Int32Array
}

/** Removals of the request, in its order. */
export interface PastRemovals {
  readonly count: number
  readonly post: Int32Array
  /** The entry that ended in the order of arrival; -1 for a post that was not pending before the cycle. */
  readonly entry: Int32Array
  /** Index in `removalReasonCodes`. */
  readonly reason: Uint8Array
  /** Index in `tierCodes`; `absentCode` where absent. */
  readonly tier: Uint8Array
  readonly decidedMs: Float64Array
}

/** One row per pending post, in the order of the response's results. Unknown posts are left out. */
export interface PastRows {
  readonly count: number
  readonly entry: Int32Array
  /** Index in `outcomeCodes`: scored, waiting, or not scored with its reason. */
  readonly outcome: Uint8Array
}

/** The scored rows, in the order of the response's results. */
export interface PastScores {
  readonly count: number
  readonly entry: Int32Array
  /** The float32 value; in an earlier version's cycle, the float32 that the response's digits name. */
  readonly score: Float32Array
  /** Counters that the cycle's scoring used; NaN for null. */
  readonly views: Float64Array
  readonly up: Float64Array
  readonly comment_cnt: Float64Array
  readonly rtb_vote: Float64Array
}

/** Its columns are valid until the next cycle is read. */
export interface PastCycle extends StoredCycle {
  readonly candidates: PastCandidates
  readonly removals: PastRemovals
  readonly rows: PastRows
  readonly scored: PastScores
}
