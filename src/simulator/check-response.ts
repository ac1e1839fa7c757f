/**
 * Checks a response against the contract: its shape, counts, versions, scores, and each row. Throws the first
 * `ContractViolation` found. Rows of other clients' posts are allowed unless the service is exclusive to this client;
 * what this client can know of them is checked too.
 */
import typia from 'typia'
import {
  parseInstant,
  type CycleResponse,
  type ResultRow,
  type WeightsRecord,
  type WeightsState,
} from '../contract/index.js'
import { ContractViolation } from './errors.js'
import { keyOf, type Expectation, type ExpectedRow } from './ledger.js'

/** Scores and predictions are float32 in the service; the sum of four has no more precision than this. */
export const scoreTolerance = 1e-5
const shareTolerance = 1e-9

const validateResponse = typia.createValidate<CycleResponse>()

/** What a response is checked against, besides the expectation. */
export interface CheckContext {
  /** Whether a gallery belongs to this simulation. */
  readonly isOwn: (gallId: string) => boolean
  /** No other client has pending posts. */
  readonly exclusive: boolean
  readonly weights: WeightsState
  /** The `model_version` of a response that was computed after this client connected. */
  readonly modelVersion: string
  /** The service's clock when this client connected; earlier responses may be from another model. */
  readonly connectedAtMs: number
}

/** The parsed response, if it is correct. `body` is the body as received. */
export function checkResponse(body: Buffer, expected: Expectation, context: CheckContext): CycleResponse {
  const check = new Checker(expected.cycleId)
  const response = check.shape(body)
  checkCycleFields(check, response, expected)
  checkCounts(check, response, expected)
  check.near(
    'missing_feature_share',
    expected.missingFeatureShare,
    response.missing_feature_share,
    shareTolerance,
  )
  checkVersions(check, response, expected, context)
  checkRows(check, response, expected, context)
  checkScores(check, response, weightsInForce(context.weights, expected.cycleTime))
  return response
}

/** The weights of a `cycle_time`, or null if they are older than those that the service lists. */
export function weightsInForce(state: WeightsState, cycleTime: string): WeightsRecord | null {
  const atMs = parseInstant(cycleTime)?.ms ?? NaN
  const { current, previous } = state
  if (previous === null || atMs >= (parseInstant(current.first_cycle_time)?.ms ?? NaN)) return current
  return atMs >= (parseInstant(previous.first_cycle_time)?.ms ?? NaN) ? previous : null
}

class Checker {
  constructor(private readonly cycleId: string) {}

  fail(path: string, expected: unknown, got: unknown): never {
    throw new ContractViolation({ path, expected, got, cycleId: this.cycleId })
  }

  equal(path: string, expected: unknown, got: unknown): void {
    if (got !== expected) this.fail(path, expected, got)
  }

  near(path: string, expected: number, got: number, tolerance: number): void {
    // Written so that NaN fails.
    if (!(Math.abs(got - expected) <= tolerance)) this.fail(path, expected, got)
  }

  shape(body: Buffer): CycleResponse {
    let value: unknown
    try {
      value = JSON.parse(body.toString('utf8'))
    } catch {
      this.fail('', 'JSON', body.toString('utf8'))
    }
    const report = validateResponse(value)
    if (report.success) return report.data
    const error = report.errors[0]
    this.fail(error?.path.replace(/^\$input\.?/, '') ?? '', error?.expected, error?.value)
  }
}

function checkCycleFields(check: Checker, response: CycleResponse, expected: Expectation): void {
  check.equal('cycle_id', expected.cycleId, response.cycle_id)
  check.equal('cycle_time', expected.cycleTime, response.cycle_time)
  const received = parseInstant(response.received_at)
  if (received === null) check.fail('received_at', 'a date-time', response.received_at)
  const scored = parseInstant(response.scored_at)
  if (scored === null) check.fail('scored_at', 'a date-time', response.scored_at)
  if (scored.ms < received.ms)
    check.fail('scored_at', `not before ${response.received_at}`, response.scored_at)
}

function checkCounts(check: Checker, response: CycleResponse, expected: Expectation): void {
  const { counts, results } = response
  for (const [name, count] of Object.entries(expected.received)) {
    check.equal(`counts.${name}`, count, counts[name as keyof Expectation['received']])
  }
  const countOf = (status: string): number =>
    results.reduce((sum, row) => sum + (row.status === status ? 1 : 0), 0)
  check.equal('counts.results', results.length, counts.results)
  check.equal('counts.scored_now', countOf('scored'), counts.scored_now)
  check.equal('counts.waiting', countOf('waiting'), counts.waiting)
  check.equal('counts.not_scored', countOf('not_scored'), counts.not_scored)
}

function checkVersions(
  check: Checker,
  response: CycleResponse,
  expected: Expectation,
  context: CheckContext,
): void {
  if (response.model_version === '') check.fail('model_version', 'a name', '')
  if (response.weights_version === '') check.fail('weights_version', 'a name', '')
  const receivedAtMs = parseInstant(response.received_at)?.ms ?? NaN
  if (receivedAtMs >= context.connectedAtMs) {
    check.equal('model_version', context.modelVersion, response.model_version)
  }
  const inForce = weightsInForce(context.weights, expected.cycleTime)
  if (inForce !== null) check.equal('weights_version', inForce.version, response.weights_version)
}

// ---- rows

function checkRows(
  check: Checker,
  response: CycleResponse,
  expected: Expectation,
  context: CheckContext,
): void {
  const unknownFrom = response.results.length - expected.unknown.length
  const seen = new Set<string>()
  let next = 0
  for (const [index, row] of response.results.entries()) {
    const path = `results[${index}]`
    const key = keyOf(row)
    if (seen.has(key)) check.fail(path, 'each post once', `${key} again`)
    seen.add(key)
    if (index >= unknownFrom) {
      checkRow(check, path, row, expected.unknown[index - unknownFrom], expected)
    } else if (context.isOwn(row.gall_id)) {
      checkRow(check, path, row, expected.pending[next++], expected)
    } else if (context.exclusive) {
      check.fail(path, 'only posts of this client', key)
    } else {
      // A pending post of another client: this call has no reading of it (decisions.md 17).
      const { gall_id, post_no } = row
      checkRow(check, path, row, { gall_id, post_no, status: 'waiting' }, expected)
    }
  }
  const lost = expected.pending[next]
  if (lost !== undefined) check.fail('results', `a row for ${keyOf(lost)}`, 'none')
}

function checkRow(
  check: Checker,
  path: string,
  row: ResultRow,
  expected: ExpectedRow | undefined,
  { cycleTime }: Expectation,
): void {
  if (expected === undefined) check.fail(path, 'no further post', keyOf(row))
  check.equal(path, keyOf(expected), keyOf(row))
  check.equal(`${path}.status`, expected.status, row.status)
  check.equal(`${path}.reason`, expected.reason, row.reason)
  check.equal(
    `${path}.scored_at_cycle`,
    expected.status === 'scored' ? cycleTime : undefined,
    row.scored_at_cycle,
  )
  if (expected.status === 'scored' && row.score === null) check.fail(`${path}.score`, 'a number', null)
  if (expected.status !== 'scored') check.equal(`${path}.score`, null, row.score)
}

// ---- scores

const headNames = ['p_views', 'p_comments', 'p_up', 'downvote_share'] as const

/** decisions.md 24. Without the weights or a prediction, which is optional, only the range of a score is checked. */
function checkScores(check: Checker, response: CycleResponse, record: WeightsRecord | null): void {
  for (const [index, row] of response.results.entries()) {
    const path = `results[${index}]`
    for (const name of headNames) {
      const share = row[name]
      if (share !== undefined && !(share >= 0 && share <= 1)) {
        check.fail(`${path}.${name}`, 'a number from 0 to 1', share)
      }
    }
    if (row.score === null) continue
    if (!Number.isFinite(row.score)) check.fail(`${path}.score`, 'a finite number', String(row.score))
    const { p_views, p_comments, p_up, downvote_share } = row
    if (record === null || p_views === undefined || p_comments === undefined) continue
    if (p_up === undefined || downvote_share === undefined) continue
    const { views, comments, up, downvote_share: downvote } = record.weights
    const sum = views * p_views + comments * p_comments + up * p_up - downvote * downvote_share
    const scale = Math.max(1, views + comments + up + downvote)
    check.near(`${path}.score`, sum, row.score, scoreTolerance * scale)
  }
}
