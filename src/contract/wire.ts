/**
 * The wire types of docs/contract.md, written once. Validators, messages, enum codes, the native decoder's table and the
 * OpenAPI document are derived from these types and their tags; nothing repeats them. Doc comments are the descriptions in
 * the OpenAPI document.
 */
import type { tags } from 'typia'

// ---- scalars

// `isDateTime` and `isWithinChars` must be in scope where typia generates a validator.
/** RFC 3339 date-time with an explicit offset: `Z` or `+hh:mm`. */
export type DateTime = string &
  tags.TagBase<{
    target: 'string'
    kind: 'format'
    value: 'date-time'
    validate: 'isDateTime($input)'
    exclusive: ['format', 'pattern']
    schema: { format: 'date-time' }
  }>

/** At most `Max` characters. typia's own tag counts UTF-16 units; a JSON schema counts code points, and so does this one. */
type CharsMax<Max extends number> = tags.TagBase<{
  target: 'string'
  kind: 'maxLength'
  value: Max
  validate: `isWithinChars($input, ${Max})`
  exclusive: true
  schema: { maxLength: Max }
}>

/** No half of a surrogate pair: only such a text has a UTF-8 form, a percent-encoded form and a place in a label. */
type Unicode = tags.TagBase<{
  target: 'string'
  kind: 'format'
  value: 'unicode'
  validate: '$input.isWellFormed()'
  exclusive: ['format', 'pattern']
  schema: { format: 'unicode' }
}>

/** Names are kept for as long as the data, in memory too. */
export const nameCharsMax = 1024
type NameCharsMax = 1024
export const noteCharsMax = 10_000
type NoteCharsMax = 10_000

/** An identifier is non-empty Unicode text. */
type NameRules = tags.MinLength<1> & CharsMax<NameCharsMax> & Unicode
/** A word of an open list, which may be empty. */
type Label = string & CharsMax<NameCharsMax>

/** A double cannot hold every integer beyond 2^53-1. */
type IntegerMax = 9007199254740991
type IntegerMin = -9007199254740991

/** A post is identified by its gallery and its number. */
export type GalleryId = string & NameRules
/** Unique only within its gallery. */
export type PostNo = number & tags.Type<'int64'> & tags.Minimum<1> & tags.Maximum<IntegerMax>
export type Counter = number & tags.Type<'int64'> & tags.Minimum<0> & tags.Maximum<IntegerMax>
export type NullableCounter = Counter | null
/** Lowercase hexadecimal digits. */
export type Sha256 = string & tags.Pattern<'^[0-9a-f]{64}$'>
/** `YYYYMMDDTHHMM` in KST. */
export type CycleId = string & tags.Pattern<'^\\d{8}T\\d{4}$'>

type Count = number & tags.Type<'int64'> & tags.Minimum<0>
/** Only the schema gives the range: the simulated client checks it with a message of its own. */
type Share = number & tags.JsonSchemaPlugin<{ minimum: 0; maximum: 1 }>

// ---- a cycle

/** A longer list is one problem, and its rows are not checked. */
export const rowCountMax = 5000
type RowCountMax = 5000

export interface CycleRequest {
  /** Idempotency key: the minute of `cycle_time` in KST. */
  cycle_id: CycleId
  /** On a five-minute boundary, and not in the future. */
  cycle_time: DateTime
  /** Posts that entered the queue since the last successful call. */
  candidates: Candidate[]
  /** One row for every pending post, in every cycle. */
  engagement: EngagementRow[] & tags.MaxItems<RowCountMax>
  /** The admin snapshots that are available. */
  candidate_scores: CandidateScoreRow[] & tags.MaxItems<RowCountMax>
  /** Posts that left the queue since the last successful call. */
  removals: Removal[] & tags.MaxItems<RowCountMax>
}

export type Source = 'score' | 'setting' | 'keyword' | 'vote' | 'manual' | 'unknown'
export type GalleryType = 'main' | 'minor' | 'mini'
export type ImagePosition = number & tags.Type<'int64'> & tags.Minimum<1> & tags.Maximum<IntegerMax>

export interface Candidate {
  gall_id: GalleryId
  post_no: PostNo
  /** At extraction time. An empty one is `missing_title`. */
  title: string
  /** Null is `missing_clock`. */
  created_at: DateTime | null
  /** Entry into the queue. Null is `missing_clock`. */
  extracted_at: DateTime | null
  /** The client's code. */
  source: Source
  /** 1: registered by hand. */
  manual_flag: 0 | 1
  /** Number of images in the original body. */
  images_in_post: Counter
  /** One-based positions of the images to expect, gaps included. */
  image_positions?: ImagePosition[] & tags.UniqueItems
  /** Text or HTML of the original body. */
  body_html?: string
  gallery_type?: GalleryType
  /** The client's identifier. */
  category_id?: number & tags.Type<'int64'> & tags.Minimum<IntegerMin> & tags.Maximum<IntegerMax>
}

export type EngagementStatus = 'ok' | 'missing' | 'nomap'

export interface EngagementRow {
  gall_id: GalleryId
  post_no: PostNo
  /** Not later than `cycle_time`. */
  observed_at: DateTime
  /** `missing`: the post is gone. `nomap`: it is not mapped yet. Both are `post_unavailable`. */
  status: EngagementStatus
  views: NullableCounter
  /** Recommendations. */
  up: NullableCounter
  /** Down-votes. */
  down: NullableCounter
  comment_cnt: NullableCounter
  /** Send-to-Best votes. */
  rtb_vote: NullableCounter
}

/** An admin snapshot. `_m` is the part of mobile browsers, `_a` that of the app. */
export interface CandidateScoreRow {
  gall_id: GalleryId
  post_no: PostNo
  /** Not later than `cycle_time`. */
  snapshot_at: DateTime
  recommend_up_cnt?: NullableCounter
  recommend_up_cnt_m?: NullableCounter
  recommend_up_cnt_a?: NullableCounter
  comment_cnt?: NullableCounter
  comment_cnt_m?: NullableCounter
  comment_cnt_a?: NullableCounter
  hit_cnt?: NullableCounter
  hit_cnt_m?: NullableCounter
  hit_cnt_a?: NullableCounter
  sitebest_cnt?: NullableCounter
  sitebest_cnt_m?: NullableCounter
  sitebest_cnt_a?: NullableCounter
  /** Size of the body. */
  memo_size?: NullableCounter
  upimg_cnt?: NullableCounter
  /** Total height of the images. */
  upimg_height?: (number & tags.Type<'int64'> & tags.Minimum<0> & tags.Maximum<32767>) | null
}

export type RemovalReason = 'saved' | 'hidden' | 'deleted' | 'aged_out'
export type Tier = 'main' | 'light' | 'night' | 'app'

export type Removal = SavedRemoval | OtherRemoval

interface RemovedPost {
  gall_id: GalleryId
  post_no: PostNo
  /** When the post was saved, hidden or deleted. Not an input of the model. */
  decided_at: DateTime
  /** The client's code, not interpreted. */
  reason_code?: Label
}

/** The post was placed on a board. */
interface SavedRemoval extends RemovedPost {
  reason: 'saved'
  tier: Tier
}

interface OtherRemoval extends RemovedPost {
  reason: Exclude<RemovalReason, 'saved'>
  tier?: Tier
}

// ---- the response to a cycle

export interface CycleResponse {
  cycle_id: CycleId
  cycle_time: DateTime
  /** When the call arrived. */
  received_at: DateTime
  /** When the scores were ready. */
  scored_at: DateTime
  model_version: string
  weights_version: string
  counts: Counts
  /** Null counters divided by five times the engagement rows. */
  missing_feature_share: Share
  /** One line per kind, with a count and the first posts that it concerns. */
  warnings: string[]
  /** Pending posts in the order of their entry, then unknown posts in the order of the request. */
  results: ResultRow[]
}

export interface Counts {
  /** Rows received. */
  candidates: Count
  engagement: Count
  candidate_scores: Count
  removals: Count
  /** Rows returned. */
  scored_now: Count
  waiting: Count
  not_scored: Count
  results: Count
}

export type ResultStatus = 'scored' | 'waiting' | 'not_scored'
export type ResultReason = 'missing_title' | 'missing_clock' | 'post_unavailable' | 'unknown_post'

export interface PostKey {
  readonly gall_id: string
  readonly post_no: number
}

export interface ResultRow {
  gall_id: GalleryId
  post_no: PostNo
  status: ResultStatus
  /** Null unless `scored`. */
  score: number | null
  /** Predictions of the heads that the model has, if `scored`. */
  p_views?: Share
  p_comments?: Share
  p_up?: Share
  downvote_share?: Share
  /** `cycle_time` as sent, if `scored`. */
  scored_at_cycle?: DateTime
  /** Present if `not_scored`. */
  reason?: ResultReason
}

// ---- images

export interface ImageStored {
  /** `<gall_id>/<post_no>/<NN>.jpg` */
  key: string
  sha256: Sha256
  bytes: Count
}

// ---- outcomes

export interface OutcomesRequest {
  outcomes: Outcome[] & tags.MaxItems<RowCountMax>
}

type AtPlacement = NullableCounter

export interface Outcome {
  /** A record with a known id replaces the stored one. */
  placement_id: string & NameRules
  gall_id: GalleryId
  post_no: PostNo
  tier: Label
  placed_at: DateTime
  /** An operator, or a model with its versions and cycle. */
  picked_by: PickedBy
  score_at_placement?: (number & tags.Minimum<-1e300> & tags.Maximum<1e300>) | null
  views_at_placement?: AtPlacement
  up_at_placement?: AtPlacement
  down_at_placement?: AtPlacement
  comment_at_placement?: AtPlacement
  readings?: OutcomeReading[]
  hidden_at?: DateTime | null
  deleted_at?: DateTime | null
}

export type PickedBy = PickedByOperator | PickedByModel

interface PickedByOperator {
  type: 'operator'
  model_version?: Label
  weights_version?: Label
  cycle_id?: CycleId
}

interface PickedByModel {
  type: 'model'
  model_version: Label
  weights_version: Label
  cycle_id: CycleId
}

export interface OutcomeReading {
  /** Hours since the placement. */
  age_h: 1 | 6 | 24 | 48
  observed_at: DateTime
  views: NullableCounter
  up: NullableCounter
  down: NullableCounter
  comment_cnt: NullableCounter
}

export interface OutcomesResponse {
  received: Count
  created: Count
  updated: Count
}

// ---- weights

// Finite, and small enough that a weighted sum of four shares is finite as a float32 too.
type Weight = number & tags.Minimum<0> & tags.Maximum<1e30>

export interface Weights {
  views: Weight
  comments: Weight
  up: Weight
  downvote_share: Weight
}

export interface WeightsRequest {
  version: string & NameRules
  weights: Weights
  note?: string & CharsMax<NoteCharsMax>
}

export interface WeightsAck {
  version: string
  /** The first cycle that the weights apply to. */
  first_cycle_time: DateTime
}

export interface WeightsRecord {
  version: string
  weights: Weights
  note: string
  set_at: DateTime
  first_cycle_time: DateTime
}

export interface WeightsState {
  current: WeightsRecord
  previous: WeightsRecord | null
}

// ---- health and errors

export interface Health {
  status: 'ok' | 'degraded'
  time: DateTime
  api_version: '1'
  /** `none` while no model is loaded. */
  model_version: string
  /** The weights in force now. */
  weights_version: string
  /** The last cycle to arrive; null before the first. */
  last_cycle_id: CycleId | null
  last_cycle_received_at: DateTime | null
}

export interface FieldProblem {
  /** For example `engagement[3].views`; empty for the whole body. */
  path: string
  problem: string
}

export interface ErrorRecord {
  error: { code: string; message: string; fields?: FieldProblem[] }
}
