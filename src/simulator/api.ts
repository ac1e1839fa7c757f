/**
 * The operations of the contract as the simulated client calls them, through the packaged client. A status or a shape that
 * the contract does not allow is a `ContractViolation`. Counts attempts and bytes, and reports outages.
 */
import typia from 'typia'
import { kibibyte, parseJson } from '../base/index.js'
import {
  Client,
  ConnectionError,
  imageCall,
  isTemporaryError,
  jsonCall,
  plainCall,
  reasonOf,
  ResponseError,
  scoresCall,
  type Call,
  type Failure,
  type Reply,
} from '../client/index.js'
import {
  errorTable,
  isDateTime,
  isWithinChars,
  parseInstant,
  type CycleResponse,
  type ErrorKind,
  type ErrorRecord,
  type Health,
  type Outcome,
  type OutcomesResponse,
  type PostKey,
  type WeightsState,
} from '../contract/index.js'
import type { Upload } from './base-images.js'
import { abortingFetch, type AbortedCall } from './aborting-fetch.js'
import { ContractViolation, SimulationError } from './errors.js'
import type { Rng } from './rng.js'

// The validators that typia generates here call them by name.
export { isDateTime, isWithinChars }

const isHealth = typia.createIs<Health>()
const isWeightsState = typia.createIs<WeightsState>()
const isOutcomesResponse = typia.createIs<OutcomesResponse>()
const isCycleResponse = typia.createIs<CycleResponse>()
const isErrorRecord = typia.createIs<ErrorRecord>()

/** Half of the JSON bodies of at least this size are sent as gzip. */
const gzipCharsMin = 16 * kibibyte
const gzipShare = 0.5
/** A simulation repeats calls sooner than a client that waits for the next cycle. */
const backoff = { backoffMsFirst: 100, backoffMsMax: 2000 }
const attemptTimeoutMs = 30_000

type ImageKey = Pick<Upload, 'gallId' | 'postNo' | 'position'>

export interface ApiOptions {
  readonly url: string
  readonly apiKey: string
  /** How long one call is repeated while the service is unavailable. */
  readonly retryTimeoutMs: number
  readonly signal?: AbortSignal | undefined
  /** Called at each attempt that fails because the service is unavailable, and with null when it responds again. */
  readonly onOutage?: ((outage: Outage | null) => void) | undefined
}

/** The service is unavailable; calls are repeated until it responds. */
export interface Outage {
  /** Starts with the first attempt that failed. */
  readonly outageMs: number
  /** Why the last attempt failed. */
  readonly reason: string
}

export class Api {
  /** The current cycle, for the message of a `ContractViolation`. */
  cycleId: string | null = null
  /** Attempts beyond the first of each call. */
  retryCount = 0
  /** Bytes of bodies sent, in all attempts. */
  bodyBytesSent = 0
  private readonly client: Client
  /** When the first attempt since the last response failed, or null. */
  private outageSinceMs: number | null = null

  constructor(private readonly options: ApiOptions) {
    const { url, apiKey, retryTimeoutMs } = options
    const countedFetch: typeof fetch = (input, init) => {
      this.bodyBytesSent += (init?.body as Uint8Array | null | undefined)?.length ?? 0
      return fetch(input, init)
    }
    const onFailure = (failure: Failure): void => this.onFailure(failure)
    this.client = new Client({
      url,
      apiKey,
      retryTimeoutMs,
      attemptTimeoutMs,
      ...backoff,
      onFailure,
      fetch: countedFetch,
    })
  }

  async health(): Promise<Health> {
    return this.read(plainCall('getHealth'), isHealth, 'Health')
  }

  async weights(): Promise<WeightsState> {
    return this.read(plainCall('getWeights'), isWeightsState, 'WeightsState')
  }

  /** A `POST /v1/cycles` call for a body, with or without gzip by size and chance. */
  cycleCall(json: string, rng: Rng): Promise<Call> {
    return jsonCall('postCycle', json, this.drawGzip(json, rng))
  }

  /** The response to a cycle: 200, or 409, which the caller interprets. */
  async sendCycle(call: Call): Promise<Reply> {
    const reply = await this.send(call)
    return this.isRefusal(call, reply, 'conflict') ? reply : this.json(call, reply)
  }

  /** The stored response of a cycle, or null if there is none. */
  async storedResponse(cycleId: string): Promise<Uint8Array | null> {
    const call = scoresCall(cycleId, 'GET')
    const reply = await this.send(call)
    return this.isRefusal(call, reply, 'not_found') ? null : this.json(call, reply).body
  }

  /** Time and posts of a stored cycle, or null if it is not stored. */
  async storedResult(cycleId: string): Promise<{ cycleAtMs: number; posts: readonly PostKey[] } | null> {
    const body = await this.storedResponse(cycleId)
    if (body === null) return null
    const { cycle_time, results } = this.parsed(
      scoresCall(cycleId, 'GET'),
      body,
      isCycleResponse,
      'CycleResponse',
    )
    const cycleAtMs = parseInstant(cycle_time)?.ms ?? NaN
    return { cycleAtMs, posts: results }
  }

  async isStored(cycleId: string): Promise<boolean> {
    const call = scoresCall(cycleId, 'HEAD')
    const reply = await this.send(call)
    return this.checkJsonType(call, this.allowed(call, reply, [200, 404])).status === 200
  }

  /** 201 for a new image, 200 for one that the service has stored. */
  async putImage(image: ImageKey, jpeg: Buffer): Promise<Reply> {
    const call = await this.imageCall(image, jpeg)
    return this.allowed(call, await this.send(call), [200, 201])
  }

  imageCall({ gallId, postNo, position }: ImageKey, jpeg: Buffer): Promise<Call> {
    return imageCall({ gall_id: gallId, post_no: postNo, position }, jpeg)
  }

  async postOutcomes(
    outcomes: readonly Outcome[],
    rng: Rng,
  ): Promise<OutcomesResponse & { retryCount: number }> {
    const json = JSON.stringify({ outcomes })
    const call = await jsonCall('postOutcomes', json, this.drawGzip(json, rng))
    const reply = this.json(call, await this.send(call))
    return {
      ...this.parsed(call, reply.body, isOutcomesResponse, 'OutcomesResponse'),
      retryCount: reply.retryCount,
    }
  }

  /** Sends a call and closes the connection without reading the response. The service may have processed it. */
  async abortCall(call: Call, how: AbortedCall): Promise<void> {
    const { url, apiKey, signal } = this.options
    const breaking = abortingFetch(how, (bytes) => (this.bodyBytesSent += bytes))
    const client = new Client({ url, apiKey, retryTimeoutMs: 0, attemptTimeoutMs, fetch: breaking })
    await client.send(call, { signal }).catch(() => undefined)
  }

  /** The final response to a call. An outage longer than `retryTimeoutMs` is a `SimulationError`. */
  private async send(call: Call): Promise<Reply> {
    const { signal, onOutage, retryTimeoutMs, url } = this.options
    const reply = await this.client.send(call, { signal }).catch((error: unknown) => {
      if (!(error instanceof ConnectionError || error instanceof ResponseError)) throw error
      const seconds = Math.round(retryTimeoutMs / 1000)
      const message =
        error instanceof ConnectionError && !isTemporaryError(error)
          ? `${url}: ${reasonOf(error)}`
          : `${call.method} ${call.path}: no response within ${seconds} s; last failure: ${reasonOf(error)}; --url names the server`
      throw new SimulationError('unreachable', message, { cause: error })
    })
    if (this.outageSinceMs !== null) onOutage?.(null)
    this.outageSinceMs = null
    return reply
  }

  private onFailure({ call, outcome, waitMs }: Failure): void {
    if (!(outcome instanceof Error)) this.checkRefusal(call, outcome)
    else if (!isTemporaryError(outcome)) return
    this.outageSinceMs ??= performance.now()
    const reason = outcome instanceof Error ? reasonOf(outcome) : reasonOfStatus(outcome.status)
    this.options.onOutage?.({ outageMs: performance.now() - this.outageSinceMs, reason })
    if (waitMs !== null) this.retryCount++
  }

  private drawGzip(json: string, rng: Rng): boolean {
    return rng.chance(gzipShare) && json.length >= gzipCharsMin
  }

  private async read<T>(call: Call, is: (value: unknown) => value is T, type: string): Promise<T> {
    return this.parsed(call, this.json(call, await this.send(call)).body, is, type)
  }

  private parsed<T>(call: Call, body: Uint8Array, is: (value: unknown) => value is T, type: string): T {
    const value = parseJson(body)
    if (!is(value)) this.fail(call, 'body', type, textOf(body))
    return value
  }

  private json(call: Call, reply: Reply): Reply {
    return this.checkJsonType(call, this.allowed(call, reply, [200]))
  }

  private checkJsonType(call: Call, reply: Reply): Reply {
    const type = reply.headers.get('content-type') ?? 'none'
    if (!/^application\/json\b/i.test(type)) this.fail(call, 'Content-Type', 'application/json', type)
    return reply
  }

  /** Whether the service refuses the call with this error. A gateway may respond with the same status. */
  private isRefusal(call: Call, reply: Reply, kind: ErrorKind): boolean {
    const { status, code } = errorTable[kind]
    if (reply.status !== status) return false
    const record = parseJson(reply.body)
    if (!isErrorRecord(record) || record.error.code !== code)
      this.fail(call, 'body', `an error record with the code ${code}`, textOf(reply.body))
    return true
  }

  /** The reply, if its status is one of `statuses`. */
  private allowed(call: Call, reply: Reply, statuses: readonly number[]): Reply {
    if (statuses.includes(reply.status)) return reply
    const record = parseJson(reply.body)
    const text = isErrorRecord(record) ? `${record.error.code}: ${record.error.message}` : 'no error record'
    if (reply.status === 401) {
      throw new SimulationError('unauthorized', `${call.method} ${call.path}: ${text}`)
    }
    const [field] = isErrorRecord(record) ? (record.error.fields ?? []) : []
    const where = field === undefined ? '' : `; ${field.path}: ${field.problem}`
    this.fail(call, 'status', statuses.join(' or '), `${reply.status} (${text}${where})`)
  }

  /** A 503 of the service has an error code and Retry-After (docs/contract.md, Errors); that of a proxy need not. */
  private checkRefusal(call: Call, reply: Reply): void {
    const record = parseJson(reply.body)
    if (reply.status !== 503 || !isErrorRecord(record)) return
    const after = reply.headers.get('retry-after') ?? 'none'
    if (record.error.code !== 'server_error') this.fail(call, 'error.code', 'server_error', record.error.code)
    if (!/^\d+$/.test(after)) this.fail(call, 'Retry-After', 'seconds', after)
  }

  violation(path: string, expected: unknown, got: unknown): never {
    throw new ContractViolation(path, expected, got, this.cycleId)
  }

  fail(call: Pick<Call, 'method' | 'path'>, what: string, expected: unknown, got: unknown): never {
    this.violation(`${call.method} ${call.path}: ${what}`, expected, got)
  }
}

/** The only 422 that is repeated is a refusal for the future. */
function reasonOfStatus(status: number): string {
  return status === 422 ? 'the clock of the service is behind the time of the cycle' : `status ${status}`
}

export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8')
}
