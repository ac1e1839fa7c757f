/**
 * Column layouts: a cycle as typed arrays with one entry per row, shared by codecs, pool and features.
 * Conventions: a null or absent number is NaN, an absent enum is `absentCode`, a time is whole milliseconds since
 * 1970 plus a fraction of a millisecond in a second column.
 */
import { assert } from './assert.js'
import type { GalleryIds } from './gallery-table.js'
import { cycleShape, rowShape } from './shape.js'
import type { Instant } from './time.js'
import type { Candidate, CandidateScoreRow, EngagementRow, ResultRow } from './wire.js'

// ---- enums as codes: the position in the wire type's list

/** Code of an enum member that is absent. */
export const absentCode = 255

// The shapes are generated from the types of the members.
export const sourceCodes = enumCodes('candidates', 'source') as readonly Candidate['source'][]
export const galleryTypeCodes = enumCodes('candidates', 'gallery_type') as readonly NonNullable<
  Candidate['gallery_type']
>[]
export const engagementStatusCodes = enumCodes('engagement', 'status')
export const removalReasonCodes = enumCodes('removals', 'reason')
export const tierCodes = enumCodes('removals', 'tier')

/** Code of engagement status `ok`: the only readings that are scored. */
export const statusOk = engagementStatusCodes.indexOf('ok')

// ---- column names

export const counterNames = [
  'views',
  'up',
  'down',
  'comment_cnt',
  'rtb_vote',
] as const satisfies readonly (keyof EngagementRow)[]
export type CounterName = (typeof counterNames)[number]

export const snapshotNames = [
  'recommend_up_cnt',
  'recommend_up_cnt_m',
  'recommend_up_cnt_a',
  'comment_cnt',
  'comment_cnt_m',
  'comment_cnt_a',
  'hit_cnt',
  'hit_cnt_m',
  'hit_cnt_a',
  'sitebest_cnt',
  'sitebest_cnt_m',
  'sitebest_cnt_a',
  'memo_size',
  'upimg_cnt',
  'upimg_height',
] as const satisfies readonly (keyof CandidateScoreRow)[]
export type SnapshotName = (typeof snapshotNames)[number]

/**
 * Measures of a title or a body, counted over its code points. In a body, text between `<` and `>` is markup: it counts
 * in `tags`, `images` and `links` only.
 */
export const textMeasureNames = [
  /** Code points. */
  'chars',
  /** Hangul syllables, U+AC00 to U+D7A3. */
  'hangul',
  /** Single jamo, U+1100 to U+11FF and U+3131 to U+318E, as in ㅋㅋ or ㅠㅠ. */
  'jamo',
  /** ㅋ and ㅎ: laughter. */
  'laughs',
  /** A to Z, a to z. */
  'latin',
  /** 0 to 9. */
  'digits',
  /** CJK ideographs, U+4E00 to U+9FFF. */
  'han',
  /** White space as defined by JavaScript's `trim`. */
  'spaces',
  /** Runs of anything but white space. */
  'words',
  /** ASCII punctuation. */
  'punctuation',
  'questions',
  'exclamations',
  /** Code points from U+1F000 on: emoji, mostly. */
  'emoji',
  'tags',
  'images',
  'links',
  /** Two halves of a 64-bit fingerprint of all code points, markup included; they differ when a re-sent text differs. */
  'fingerprintLow',
  'fingerprintHigh',
] as const
export type TextMeasureName = (typeof textMeasureNames)[number]

/** Columns of posts, by the type of their values; `imagePositionsFingerprint` and the texts are uint32. */
export const postFloatNames = [
  'createdAtMs',
  'createdAtFraction',
  'extractedAtMs',
  'extractedAtFraction',
  'imagesInPost',
  'imagesExpected',
  'categoryId',
] as const
export const postByteNames = ['source', 'manualFlag', 'galleryType', 'bodyPresent'] as const
export const readingNames = ['observedAtMs', 'observedAtFraction', ...counterNames] as const
export const snapshotColumnNames = ['snapshotAtMs', 'snapshotAtFraction', ...snapshotNames] as const

// ---- columns of rows

export type CounterColumns = Readonly<Record<CounterName, Float64Array>>
export type SnapshotCounterColumns = Readonly<Record<SnapshotName, Float64Array>>
export type TextColumns = Readonly<Record<TextMeasureName, Uint32Array>>

/** Keys of rows: `gallery` is an index into a list of gallery ids that accompanies the columns. */
export interface KeyColumns {
  readonly count: number
  readonly gallery: Uint32Array
  readonly postNo: Float64Array
}

/** Columns of a post that never change after its entry. */
export interface PostColumns {
  readonly createdAtMs: Float64Array
  readonly createdAtFraction: Float64Array
  readonly extractedAtMs: Float64Array
  readonly extractedAtFraction: Float64Array
  readonly source: Uint8Array
  readonly manualFlag: Uint8Array
  readonly imagesInPost: Float64Array
  /** Length of `image_positions`; NaN when absent. */
  readonly imagesExpected: Float64Array
  /** Hash of `image_positions` in their order; it differs when a re-sent list differs. */
  readonly imagePositionsFingerprint: Uint32Array
  readonly galleryType: Uint8Array
  readonly categoryId: Float64Array
  /** 1 when `body_html` is present. */
  readonly bodyPresent: Uint8Array
  readonly title: TextColumns
  readonly body: TextColumns
}

/** New candidates. A row is also a slice of the body: its bytes from `rowStart` up to `rowEnd`. */
export interface CandidateColumns extends KeyColumns, PostColumns {
  readonly rowStart: Uint32Array
  readonly rowEnd: Uint32Array
  readonly titles: readonly string[]
}

/** Counters at a time. */
export interface ReadingColumns extends CounterColumns {
  readonly observedAtMs: Float64Array
  readonly observedAtFraction: Float64Array
}

export interface EngagementColumns extends KeyColumns, ReadingColumns {
  readonly status: Uint8Array
}

export interface SnapshotColumns extends SnapshotCounterColumns {
  readonly snapshotAtMs: Float64Array
  readonly snapshotAtFraction: Float64Array
}

export interface CandidateScoreColumns extends KeyColumns, SnapshotColumns {}

export interface RemovalColumns extends KeyColumns {
  readonly reason: Uint8Array
  readonly tier: Uint8Array
  readonly decidedAtMs: Float64Array
}

/** A cycle body that has the shape of a `CycleRequest`. */
export interface CycleColumns {
  readonly cycleId: string
  /** The text that was sent: it is echoed. */
  readonly cycleTime: string
  readonly cycleAt: Instant
  /** Known top-level members in the order of the body. */
  readonly memberOrder: readonly string[]
  /** Gallery ids of all rows, each once; `gallery` columns index it. */
  readonly galleries: GalleryIds
  readonly candidates: CandidateColumns
  readonly engagement: EngagementColumns
  readonly candidateScores: CandidateScoreColumns
  readonly removals: RemovalColumns
  /** Distinct members that the contract does not define, such as `candidates[].mood`, in order of appearance. */
  readonly unknownFields: readonly string[]
}

// ---- results

/** Status and reason of a result in one code. */
export const outcomeCodes = [
  { status: 'scored', reason: null },
  { status: 'waiting', reason: null },
  { status: 'not_scored', reason: 'missing_title' },
  { status: 'not_scored', reason: 'missing_clock' },
  { status: 'not_scored', reason: 'post_unavailable' },
  { status: 'not_scored', reason: 'unknown_post' },
] as const
export const outcome = {
  scored: 0,
  waiting: 1,
  missingTitle: 2,
  missingClock: 3,
  postUnavailable: 4,
  unknownPost: 5,
} as const

/** Index of a result in `outcomeCodes`. */
export function outcomeCodeOf({ status, reason }: ResultRow): number {
  return outcomeCodes.findIndex((code) => code.status === status && code.reason === (reason ?? null))
}

export const headNames = ['p_views', 'p_comments', 'p_up', 'downvote_share'] as const
export type HeadName = (typeof headNames)[number]

/** Predictions for each scored row. A head that the model lacks is null. */
export type HeadColumns = Readonly<Record<HeadName, Float32Array | null>>

/** Results in the order of the response: pending posts by entry, then unknown posts. */
export interface ResultColumns extends KeyColumns {
  readonly galleries: GalleryIds
  /** Index into `outcomeCodes`. */
  readonly outcome: Uint8Array
  /** One entry per scored row, in the order of the rows. */
  readonly score: Float32Array
  readonly heads: HeadColumns
}

function enumCodes(list: string, member: string): readonly string[] {
  const value = rowShape(cycleShape, list).members.find((m) => m.name === member)!.value
  assert(value.kind === 'enum', `${list}[].${member} is an enum`)
  assert(value.values.length <= absentCode, 'the code of an absent member is no position in the list')
  return value.values.map(String)
}
