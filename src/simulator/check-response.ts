/**
 * Checks a response against the contract: its shape, counts, versions, scores, and each row. Throws the first
 * `ContractViolation` found. Rows of other clients' posts are allowed unless the service is exclusive to this client;
 * the members that this client can predict are checked too.
 */
import typia from 'typia'
import {
  headNames,
  isDateTime,
  isWithinChars,
  parseInstant,
  type CycleResponse,
  type PostKey,
  type ResultRow,
  type WeightsRecord,
  type WeightsState,
} from '../contract/index.js'
import { textOf } from './api.js'
import { ContractViolation } from './errors.js'
import { keyOf, type Expectation, type ExpectedRow } from './ledger.js'

/** Scores and predictions are float32 in the service; the sum of four has no more precision than this. */
export const scoreTolerance = 1e-5
const shareTolerance = 1e-9

// The validator that typia generates here calls them by name.
export { isDateTime, isWithinChars }

const validateResponse = typia.createValidate<CycleResponse>()

/** What a response is checked against, besides the expectation. */
export interface CheckContext {
  /** Whether a post belongs to this simulation. */
  readonly isOwn: (post: PostKey) => boolean
  /** No other client has pending posts. */
  readonly exclusive: boolean
  readonly weights: WeightsState
  /** The `model_version` of a response that was computed after this client connected. */
  readonly modelVersion: string
  /** The service's clock when this client connected; earlier responses may be from another model. */
  readonly connectedAtMs: number
}

/** The parsed response, if it is correct. `body` is the body as received. */
export function checkResponse(body: Uint8Array, expected: Expectation, context: CheckContext): CycleResponse {
  const check = new ResponseCheck(expected, context)
  const response = check.shape(body)
  check.cycleFields(response)
  check.counts(response)
  check.versions(response)
  check.rows(response)
  const weights = weightsInForce(context.weights, expected.cycleTime)
  for (const [index, row] of response.results.entries()) check.score(`results[${index}]`, row, weights)
  return response
}

/** The weights of a `cycle_time`, or null if they are older than those that the service lists. */
export function weightsInForce(state: WeightsState, cycleTime: string): WeightsRecord | null {
  const { current, previous } = state
  const startsBy = ({ first_cycle_time }: WeightsRecord): boolean => msOf(cycleTime) >= msOf(first_cycle_time)
  if (previous === null || startsBy(current)) return current
  return startsBy(previous) ? previous : null
}

class ResponseCheck {
  constructor(
    private readonly expected: Expectation,
    private readonly context: CheckContext,
  ) {}

  shape(body: Uint8Array): CycleResponse {
    let value: unknown
    try {
      value = JSON.parse(textOf(body))
    } catch {
      this.fail('', 'JSON', textOf(body))
    }
    const report = validateResponse(value)
    if (report.success) return report.data
    const error = report.errors[0]
    this.fail(error?.path.replace(/^\$input\.?/, '') ?? '', error?.expected, error?.value)
  }

  cycleFields(response: CycleResponse): void {
    const { received_at, scored_at } = response
    this.equal('cycle_id', this.expected.cycleId, response.cycle_id)
    this.equal('cycle_time', this.expected.cycleTime, response.cycle_time)
    const { missingFeatureShare } = this.expected
    this.near('missing_feature_share', missingFeatureShare, response.missing_feature_share, shareTolerance)
    if (msOf(scored_at) < msOf(received_at)) this.fail('scored_at', `not before ${received_at}`, scored_at)
  }

  counts({ counts, results }: CycleResponse): void {
    const countOf = (status: string): number => results.filter((row) => row.status === status).length
    const expected = {
      ...this.expected.received,
      results: results.length,
      scored_now: countOf('scored'),
      waiting: countOf('waiting'),
      not_scored: countOf('not_scored'),
    }
    for (const [name, count] of Object.entries(expected)) {
      this.equal(`counts.${name}`, count, counts[name as keyof typeof expected])
    }
  }

  versions({ model_version, weights_version, received_at }: CycleResponse): void {
    if (model_version === '') this.fail('model_version', 'a name', '')
    if (weights_version === '') this.fail('weights_version', 'a name', '')
    if (msOf(received_at) >= this.context.connectedAtMs) {
      this.equal('model_version', this.context.modelVersion, model_version)
    }
    const inForce = weightsInForce(this.context.weights, this.expected.cycleTime)
    if (inForce !== null) this.equal('weights_version', inForce.version, weights_version)
  }

  rows({ results }: CycleResponse): void {
    const { pending, unknown } = this.expected
    const unknownFrom = results.length - unknown.length
    const seen = new Set<string>()
    let next = 0
    for (const [index, row] of results.entries()) {
      const path = `results[${index}]`
      const key = keyOf(row)
      if (seen.has(key)) this.fail(path, 'each post once', `${key} again`)
      seen.add(key)
      if (index >= unknownFrom) this.row(path, row, unknown[index - unknownFrom])
      else if (this.context.isOwn(row)) this.row(path, row, pending[next++])
      else if (this.context.exclusive) this.fail(path, 'only posts of this client', key)
      // A pending post of another client: this call has no reading of it.
      else this.row(path, row, { gall_id: row.gall_id, post_no: row.post_no, status: 'waiting' })
    }
    const lost = pending[next]
    if (lost !== undefined) this.fail('results', `a row for ${keyOf(lost)}`, 'none')
  }

  private row(path: string, row: ResultRow, expected: ExpectedRow | undefined): void {
    if (expected === undefined) this.fail(path, 'no further post', keyOf(row))
    const scored = expected.status === 'scored'
    this.equal(path, keyOf(expected), keyOf(row))
    this.equal(`${path}.status`, expected.status, row.status)
    this.equal(`${path}.reason`, expected.reason, row.reason)
    this.equal(`${path}.scored_at_cycle`, scored ? this.expected.cycleTime : undefined, row.scored_at_cycle)
    if (scored && row.score === null) this.fail(`${path}.score`, 'a number', null)
    if (!scored) this.equal(`${path}.score`, null, row.score)
  }

  /** Without the weights or a prediction, which is optional, only the range of a score is checked. */
  score(path: string, row: ResultRow, record: WeightsRecord | null): void {
    for (const name of headNames) {
      const share = row[name]
      if (share !== undefined && !(share >= 0 && share <= 1)) {
        this.fail(`${path}.${name}`, 'a number from 0 to 1', share)
      }
    }
    if (row.score === null) return
    if (!Number.isFinite(row.score)) this.fail(`${path}.score`, 'a finite number', String(row.score))
    const { p_views, p_comments, p_up, downvote_share } = row
    if (record === null || p_views === undefined || p_comments === undefined) return
    if (p_up === undefined || downvote_share === undefined) return
    const { views, comments, up, downvote_share: downvote } = record.weights
    const sum = views * p_views + comments * p_comments + up * p_up - downvote * downvote_share
    const scale = Math.max(1, views + comments + up + downvote)
    this.near(`${path}.score`, sum, row.score, scoreTolerance * scale)
  }

  private fail(path: string, expected: unknown, got: unknown): never {
    throw new ContractViolation(path, expected, got, this.expected.cycleId)
  }

  private equal(path: string, expected: unknown, got: unknown): void {
    if (got !== expected) this.fail(path, expected, got)
  }

  private near(path: string, expected: number, got: number, tolerance: number): void {
    // Written so that NaN fails.
    if (!(Math.abs(got - expected) <= tolerance)) this.fail(path, expected, got)
  }
}

/** NaN if the string is not a date-time. */
export function msOf(time: string): number {
  return parseInstant(time)?.ms ?? NaN
}
