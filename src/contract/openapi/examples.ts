/**
 * Examples of the OpenAPI document: one value for each type of body, of the same posts and the same cycle, and one message
 * for each kind of error. A test compares them with what a server sends.
 */
import type { ErrorKind } from '../errors.js'
import type { BodyTypes } from '../operations.js'
import type { FieldProblem } from '../wire.js'

const cycle = { cycle_id: '20260302T1205', cycle_time: '2026-03-02T12:05:00+09:00' }
const post = { gall_id: 'programming', post_no: 48211 }
const unknownPost = { gall_id: 'programming', post_no: 48190 }
const weights = { views: 0.4, comments: 0.3, up: 0.3, downvote_share: 0 }
const current = { version: 'w2', weights, note: 'fewer views', first_cycle_time: '2026-03-02T03:10:00.000Z' }
const initial = {
  version: 'initial',
  weights,
  note: 'initial weights',
  set_at: '1970-01-01T00:00:00.000Z',
  first_cycle_time: '1970-01-01T00:00:00.000Z',
}

export const bodyExamples: Readonly<BodyTypes> = {
  CycleRequest: {
    ...cycle,
    candidates: [
      {
        ...post,
        title: '점심 추천 좀',
        created_at: '2026-03-02T12:01:12+09:00',
        extracted_at: '2026-03-02T12:03:00+09:00',
        source: 'score',
        manual_flag: 0,
        images_in_post: 2,
        image_positions: [1, 2],
        body_html: '<p>국밥 말고</p>',
        gallery_type: 'main',
        category_id: 12,
      },
    ],
    engagement: [
      {
        ...post,
        observed_at: '2026-03-02T12:04:40.250+09:00',
        status: 'ok',
        views: 840,
        up: 21,
        down: 1,
        comment_cnt: 13,
        rtb_vote: null,
      },
      {
        ...unknownPost,
        observed_at: '2026-03-02T12:04:40.250+09:00',
        status: 'ok',
        views: 1204,
        up: 9,
        down: 0,
        comment_cnt: 31,
        rtb_vote: 2,
      },
    ],
    candidate_scores: [
      {
        ...post,
        snapshot_at: '2026-03-02T12:04:00+09:00',
        recommend_up_cnt: 18,
        hit_cnt: 700,
        memo_size: 5120,
      },
    ],
    removals: [
      {
        gall_id: 'baseball',
        post_no: 991,
        reason: 'saved',
        decided_at: '2026-03-02T12:02:30+09:00',
        tier: 'main',
      },
    ],
  },
  CycleResponse: {
    ...cycle,
    received_at: '2026-03-02T03:05:01.214Z',
    scored_at: '2026-03-02T03:05:01.226Z',
    model_version: 'transport-test-1',
    weights_version: 'initial',
    counts: {
      candidates: 1,
      engagement: 2,
      candidate_scores: 1,
      removals: 1,
      scored_now: 1,
      waiting: 0,
      not_scored: 1,
      results: 2,
    },
    missing_feature_share: 0.1,
    warnings: [
      'transport test: transport-test-1 is not a trained model; its scores have no meaning',
      'removal of a post that is not pending (1): baseball/991',
    ],
    results: [
      {
        ...post,
        status: 'scored',
        score: 0.5321151,
        p_views: 0.10278121,
        p_comments: 0.8682029,
        p_up: 0.76847255,
        downvote_share: 0.43618715,
        scored_at_cycle: cycle.cycle_time,
      },
      { ...unknownPost, status: 'not_scored', score: null, reason: 'unknown_post' },
    ],
  },
  Health: {
    status: 'ok',
    time: '2026-03-02T03:06:10.000Z',
    api_version: '1',
    model_version: 'transport-test-1',
    weights_version: 'initial',
    last_cycle_id: cycle.cycle_id,
    last_cycle_received_at: '2026-03-02T03:05:01.214Z',
  },
  ImageStored: {
    key: `${post.gall_id}/${post.post_no}/01.jpg`,
    sha256: 'e146d7e79c336175be715e9f71a734ec4edb644fe36d1ac11b91378d52a35261',
    bytes: 847,
  },
  OutcomesRequest: {
    outcomes: [
      {
        placement_id: 'board-7781',
        gall_id: 'baseball',
        post_no: 991,
        tier: 'main',
        placed_at: '2026-03-02T12:02:30+09:00',
        picked_by: { type: 'operator' },
        score_at_placement: 0.61,
        views_at_placement: 2100,
        readings: [
          {
            age_h: 1,
            observed_at: '2026-03-02T13:02:30+09:00',
            views: 9800,
            up: 120,
            down: 9,
            comment_cnt: 77,
          },
        ],
        hidden_at: null,
        deleted_at: null,
      },
    ],
  },
  OutcomesResponse: { received: 1, created: 1, updated: 0 },
  WeightsAck: { version: current.version, first_cycle_time: current.first_cycle_time },
  WeightsRequest: { version: current.version, weights, note: current.note },
  WeightsState: { current: { ...current, set_at: '2026-03-02T03:06:41.000Z' }, previous: initial },
}

export const errorExamples: Readonly<
  Record<ErrorKind, { readonly message: string; readonly fields?: readonly FieldProblem[] }>
> = {
  bad_request: {
    message: 'the body is not a valid cycle',
    fields: [
      { path: 'engagement[3].views', problem: 'must be an integer from 0 to 9007199254740991 or null' },
    ],
  },
  unauthorized: {
    message: 'missing or unknown API key; send it as the whole Authorization header, without a scheme',
  },
  not_found: { message: 'there is no cycle 20260302T1205' },
  method_not_allowed: { message: 'allowed methods: POST' },
  conflict: {
    message: 'cycle 20260302T1205 is stored with a different body',
    fields: [{ path: 'engagement[3].views', problem: 'was 900, is 901' }],
  },
  too_large: { message: 'the decompressed body is larger than 16777216 bytes' },
  unsupported_media_type: { message: 'Content-Encoding must be gzip or identity' },
  unprocessable: {
    message: 'the cycle is well-formed, but its times are wrong',
    fields: [{ path: 'cycle_time', problem: 'must not be in the future' }],
  },
  server_error: { message: 'internal error' },
  unavailable: { message: 'no model is loaded' },
}
