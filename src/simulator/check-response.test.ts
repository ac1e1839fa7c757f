/**
 * Every possible violation is introduced into a correct response and must be reported at its path.
 */
import { expect, test } from 'vitest'
import type { CycleResponse, ResultRow, WeightsState } from '../contract/index.js'
import { ContractViolation } from './errors.js'
import { checkResponse, weightsInForce, type CheckContext } from './check-response.js'
import type { Expectation } from './ledger.js'

const cycleTime = '2026-01-05T09:00:00+09:00'

const weights: WeightsState = {
  current: {
    version: 'w2',
    weights: { views: 0.5, comments: 0.25, up: 0.25, downvote_share: 0.5 },
    note: '',
    set_at: '2026-01-05T08:01:00+09:00',
    first_cycle_time: '2026-01-05T08:05:00+09:00',
  },
  previous: {
    version: 'w1',
    weights: { views: 1, comments: 0, up: 0, downvote_share: 0 },
    note: '',
    set_at: '2026-01-04T08:01:00+09:00',
    first_cycle_time: '2026-01-04T08:05:00+09:00',
  },
}

const context: CheckContext = {
  isOwn: ({ gall_id }) => gall_id === 'cat',
  exclusive: false,
  weights,
  modelVersion: 'm1',
  connectedAtMs: Date.UTC(2026, 0, 5, 0, 0, 0),
}

const expected: Expectation = {
  cycleId: '20260105T0900',
  cycleTime,
  received: { candidates: 2, engagement: 4, candidate_scores: 1, removals: 1 },
  missingFeatureShare: 0.15,
  pending: [
    { gall_id: 'cat', post_no: 5, status: 'scored' },
    { gall_id: 'cat', post_no: 3, status: 'waiting' },
    { gall_id: 'cat', post_no: 4, status: 'not_scored', reason: 'missing_clock' },
  ],
  unknown: [{ gall_id: 'cat', post_no: 9, status: 'not_scored', reason: 'unknown_post' }],
}

function scored(post_no: number): ResultRow {
  return {
    gall_id: 'cat',
    post_no,
    status: 'scored',
    score: 0.5 * 0.4 + 0.25 * 0.2 + 0.25 * 0.8 - 0.5 * 0.1,
    p_views: 0.4,
    p_comments: 0.2,
    p_up: 0.8,
    downvote_share: 0.1,
    scored_at_cycle: cycleTime,
  }
}

/** A correct response, with a post of another client among those of this one. */
function correctResponse(): CycleResponse {
  return {
    cycle_id: '20260105T0900',
    cycle_time: cycleTime,
    received_at: '2026-01-05T00:00:01.000Z',
    scored_at: '2026-01-05T00:00:01.020Z',
    model_version: 'm1',
    weights_version: 'w2',
    counts: {
      candidates: 2,
      engagement: 4,
      candidate_scores: 1,
      removals: 1,
      scored_now: 1,
      waiting: 2,
      not_scored: 2,
      results: 5,
    },
    missing_feature_share: 0.15,
    warnings: ['unknown post (1): cat/9'],
    results: [
      { gall_id: 'foreign', post_no: 1, status: 'waiting', score: null },
      scored(5),
      { gall_id: 'cat', post_no: 3, status: 'waiting', score: null },
      { gall_id: 'cat', post_no: 4, status: 'not_scored', score: null, reason: 'missing_clock' },
      { gall_id: 'cat', post_no: 9, status: 'not_scored', score: null, reason: 'unknown_post' },
    ],
  }
}

function violationOf(response: unknown, over: Partial<CheckContext> = {}): ContractViolation | null {
  const body = Buffer.from(typeof response === 'string' ? response : JSON.stringify(response))
  try {
    checkResponse(body, expected, { ...context, ...over })
    return null
  } catch (error) {
    if (error instanceof ContractViolation) return error
    throw error
  }
}

test('a correct response passes', () => {
  expect(violationOf(correctResponse())).toBeNull()
})

test('a response whose values are at the ends of what is allowed passes', () => {
  const response = correctResponse()
  response.scored_at = response.received_at
  const scoredRow = response.results.find(({ status }) => status === 'scored')
  Object.assign(scoredRow ?? {}, {
    p_views: 0,
    p_comments: 1,
    p_up: 1,
    downvote_share: 0,
    score: 0.25 + 0.25,
  })
  expect(violationOf(response)).toBeNull()
})

type Mutate = (response: CycleResponse, rows: ResultRow[]) => void

/** Sets members that the type would not let be set so. */
const set = (target: object, members: Record<string, unknown>): void => void Object.assign(target, members)
const row = (rows: ResultRow[], index: number): ResultRow => rows[index]!

const mutations: [what: string, path: string, mutate: Mutate][] = [
  ['a missing member', 'warnings', (a) => set(a, { warnings: undefined })],
  ['a member of the wrong type', 'counts.waiting', (a) => set(a.counts, { waiting: '2' })],
  ['a status that does not exist', 'results[2].status', (_a, r) => set(row(r, 2), { status: 'late' })],
  ['another cycle_id', 'cycle_id', (a) => set(a, { cycle_id: '20260105T0905' })],
  ['cycle_time respelled', 'cycle_time', (a) => set(a, { cycle_time: '2026-01-05T00:00:00Z' })],
  ['received_at without an offset', 'received_at', (a) => set(a, { received_at: '2026-01-05T00:00:01' })],
  ['scored_at that is not a time', 'scored_at', (a) => set(a, { scored_at: 'now' })],
  ['scored_at before received_at', 'scored_at', (a) => set(a, { scored_at: '2026-01-05T00:00:00.999Z' })],
  ['a wrong count of candidates', 'counts.candidates', (a) => set(a.counts, { candidates: 3 })],
  ['a wrong count of engagement', 'counts.engagement', (a) => set(a.counts, { engagement: 5 })],
  ['a wrong count of snapshots', 'counts.candidate_scores', (a) => set(a.counts, { candidate_scores: 0 })],
  ['a wrong count of removals', 'counts.removals', (a) => set(a.counts, { removals: 0 })],
  ['a wrong count of scored rows', 'counts.scored_now', (a) => set(a.counts, { scored_now: 2 })],
  ['a wrong count of waiting rows', 'counts.waiting', (a) => set(a.counts, { waiting: 1 })],
  ['a wrong count of not scored rows', 'counts.not_scored', (a) => set(a.counts, { not_scored: 3 })],
  ['a wrong count of rows', 'counts.results', (a) => set(a.counts, { results: 4 })],
  ['another missing share', 'missing_feature_share', (a) => set(a, { missing_feature_share: 0.151 })],
  ['a lower missing share', 'missing_feature_share', (a) => set(a, { missing_feature_share: 0.149 })],
  ['no model version', 'model_version', (a) => set(a, { model_version: '' })],
  ['another model version', 'model_version', (a) => set(a, { model_version: 'm2' })],
  ['no weights version', 'weights_version', (a) => set(a, { weights_version: '' })],
  ['the previous weights', 'weights_version', (a) => set(a, { weights_version: 'w1' })],
  ['two rows in the wrong order', 'results[1]', (_a, r) => r.splice(1, 2, row(r, 2), row(r, 1))],
  ['a row twice', 'results[2]', (_a, r) => r.splice(2, 1, row(r, 0))],
  [
    'a post that is not pending',
    'results[0]',
    (_a, r) => r.splice(0, 1, { ...row(r, 0), gall_id: 'cat', post_no: 2 }),
  ],
  ['an unknown post among the pending', 'results[3]', (_a, r) => r.splice(3, 2, row(r, 4), row(r, 3))],
  ['a scored post reported as waiting', 'results[1].status', (a, r) => setStatus(a, r, 1, 'waiting')],
  ['a waiting post reported as not scored', 'results[2].status', (a, r) => setStatus(a, r, 2, 'not_scored')],
  ["another client's post scored", 'results[0].status', (a, r) => setStatus(a, r, 0, 'scored')],
  ['a wrong reason', 'results[3].reason', (_a, r) => set(row(r, 3), { reason: 'missing_title' })],
  ['no reason', 'results[3].reason', (_a, r) => set(row(r, 3), { reason: undefined })],
  [
    'a reason where none belongs',
    'results[1].reason',
    (_a, r) => set(row(r, 1), { reason: 'missing_title' }),
  ],
  [
    'another scored_at_cycle',
    'results[1].scored_at_cycle',
    (_a, r) => set(row(r, 1), { scored_at_cycle: 'x' }),
  ],
  [
    'no scored_at_cycle',
    'results[1].scored_at_cycle',
    (_a, r) => set(row(r, 1), { scored_at_cycle: undefined }),
  ],
  [
    'scored_at_cycle on a row without a score',
    'results[2].scored_at_cycle',
    (_a, r) => set(row(r, 2), { scored_at_cycle: cycleTime }),
  ],
  ['a scored row without a score', 'results[1].score', (_a, r) => set(row(r, 1), { score: null })],
  ['a waiting row with a score', 'results[2].score', (_a, r) => set(row(r, 2), { score: 0 })],
  ['a score off by 0.0001', 'results[1].score', (_a, r) => set(row(r, 1), { score: 0.4001 })],
  ['a score too low by 0.0001', 'results[1].score', (_a, r) => set(row(r, 1), { score: 0.3999 })],
  ['a prediction above 1', 'results[1].p_up', (_a, r) => set(row(r, 1), { p_up: 1.01 })],
  ['a prediction below 0', 'results[1].downvote_share', (_a, r) => set(row(r, 1), { downvote_share: -0.1 })],
]

/** Gives a row another status and keeps the counts right, so that only the row is wrong. */
function setStatus(
  response: CycleResponse,
  rows: ResultRow[],
  index: number,
  status: ResultRow['status'],
): void {
  const names = { scored: 'scored_now', waiting: 'waiting', not_scored: 'not_scored' } as const
  const target = row(rows, index)
  response.counts[names[target.status]]--
  response.counts[names[status]]++
  target.status = status
}

test.each(mutations)('%s is found at %s', (_what, path, mutate) => {
  const response = correctResponse()
  mutate(response, response.results)
  expect(violationOf(response)?.path).toBe(path)
})

test('any missing row is found', () => {
  for (const [index, { status }] of correctResponse().results.entries()) {
    const response = correctResponse()
    response.results.splice(index, 1)
    response.counts.results--
    response.counts[status === 'scored' ? 'scored_now' : status]--
    // Another client's posts are not known here, so nothing is missed.
    if (index === 0) expect(violationOf(response)).toBeNull()
    else expect(violationOf(response)?.path).toMatch(/^results/)
  }
})

test('a score beyond the range of a double is found', () => {
  const text = JSON.stringify(correctResponse()).replace(/"score":0\.4\d*/, '"score":1e999')
  expect(violationOf(text)?.path).toBe('results[1].score')
})

test('a response that is not JSON is a violation', () => {
  expect(violationOf('{"cycle_id":')?.expected).toBe('JSON')
  expect(violationOf('null')?.path).toBe('')
})

test("another client's post is a violation for an exclusive client", () => {
  expect(violationOf(correctResponse(), { exclusive: true })?.path).toBe('results[0]')
})

test('a response from before this client connected may name another model', () => {
  const response = { ...correctResponse(), model_version: 'm0', received_at: '2026-01-04T23:59:59.999Z' }
  expect(violationOf(response)).toBeNull()
})

test('a violation names the path, the expected and the received value, and the cycle', () => {
  const violation = violationOf({ ...correctResponse(), model_version: 'm2' })
  expect(violation).toMatchObject({
    path: 'model_version',
    expected: 'm1',
    got: 'm2',
    cycleId: '20260105T0900',
    message: 'model_version: expected m1, got m2 (cycle 20260105T0900)',
  })
})

test.each([
  ['2026-01-05T08:05:00+09:00', 'w2'],
  ['2026-01-05T08:00:00+09:00', 'w1'],
  ['2026-01-04T08:00:00+09:00', null],
])('the weights of %s are %s', (time, version) => {
  expect(weightsInForce(weights, time)?.version ?? null).toBe(version)
})

test('weights that were never changed apply at all times', () => {
  const state = { ...weights, previous: null }
  expect(weightsInForce(state, '2020-01-01T00:00:00Z')?.version).toBe('w2')
})
