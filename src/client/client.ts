/**
 * The typed client: one method for each operation of the contract, with retries. It needs `fetch`, `CompressionStream` and
 * nothing else: Node 18, Deno and browsers have them. Read `send` first.
 */
import { toError } from '../base/errors.js'
import { mebibyte } from '../base/units.js'
import { errorTable } from '../contract/errors.js'
import { operations, type OperationId, type ResponseOf } from '../contract/operations.js'
import type {
  CycleRequest,
  CycleResponse,
  Health,
  ImageStored,
  Outcome,
  OutcomesResponse,
  WeightsAck,
  WeightsRequest,
  WeightsState,
} from '../contract/wire.js'
import { imageCall, jsonCall, plainCall, scoresCall, type Call, type ImageKey, type Reply } from './calls.js'
import {
  ApiError,
  ConnectionError,
  errorOf,
  hasJsonType,
  isFutureRefusal,
  jsonOf,
  ResponseError,
  TimeoutError,
} from './errors.js'
import { findMismatch } from './response-shape.js'
import {
  defaultPolicy,
  isTemporaryError,
  isTemporaryStatus,
  timerMsMax,
  wait,
  waitMsOf,
  type RetryPolicy,
} from './retry.js'

export interface ClientOptions extends Partial<RetryPolicy> {
  /** Base address, `https:` or `http:`, with or without a path. */
  readonly url: string
  readonly apiKey: string
  /** Compress JSON bodies of 1,400 bytes and more. Default true. */
  readonly gzip?: boolean
  /** Counted after decompression. A larger response is a `ResponseError`. Default 128 MiB. */
  readonly responseBytesMax?: number
  /** Called before each wait for another attempt, and when a call is given up. What it throws ends the call. */
  readonly onFailure?: (failure: Failure) => void
  /** Default: `fetch`. */
  readonly fetch?: typeof fetch
  /** 0 ≤ random < 1, for the jitter. Default: `Math.random`. */
  readonly random?: () => number
}

export interface CallOptions {
  /** Ends the call, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/** 200,000 pending posts, the default limit of the service, need a third of it. */
const responseBytesMaxDefault = 128 * mebibyte

/** An attempt that failed: a response that may be another one later, or an error. */
export interface Failure {
  readonly call: Call
  readonly outcome: Reply | Error
  /** Attempts before this one. */
  readonly retryCount: number
  /** Time until the next attempt; null: there is none. */
  readonly waitMs: number | null
}

export class Client {
  readonly #base: URL
  readonly #options: ClientOptions
  readonly #policy: RetryPolicy
  readonly #responseBytesMax: number

  /** Throws a `TypeError` if the address is not one, or the key cannot be the value of a header. */
  constructor(options: ClientOptions) {
    this.#base = new URL(options.url)
    if (!/^https?:$/.test(this.#base.protocol)) throw new TypeError('the url must be http or https')
    if (!/^[\x21-\x7e]+$/.test(options.apiKey))
      throw new TypeError('the apiKey must be visible ASCII characters without spaces')
    this.#options = options
    this.#policy = policyOf(options)
    this.#responseBytesMax = options.responseBytesMax ?? responseBytesMaxDefault
    // Written so that NaN fails.
    if (!(this.#responseBytesMax > 0))
      throw new TypeError('responseBytesMax must be a positive number of bytes')
  }

  /** Submits a cycle. Resolves with the first response to it, even if the service had processed it before. */
  async postCycle(cycle: CycleRequest, options?: CallOptions): Promise<CycleResponse> {
    return this.#sendCycle(JSON.stringify(cycle), cycle.cycle_id, options)
  }

  /** `postCycle` for a cycle that is already JSON. */
  async sendCycle(json: string, options?: CallOptions): Promise<CycleResponse> {
    return this.#sendCycle(json, cycleIdOf(json), options)
  }

  /** The stored response of a cycle. */
  async getScores(cycleId: string, options?: CallOptions): Promise<CycleResponse> {
    const call = scoresCall(cycleId, 'GET')
    return responseTo(cycleId, call, await this.send(call, options))
  }

  /** Whether the service has a stored response of a cycle. */
  async hasScores(cycleId: string, options?: CallOptions): Promise<boolean> {
    const call = scoresCall(cycleId, 'HEAD')
    const reply = await this.send(call, options)
    // A HEAD has no body to check. Error pages of gateways have another media type; their JSON has another code.
    if (!hasJsonType(reply) || (reply.status !== 200 && reply.status !== 404)) throw errorOf(call, reply)
    if (reply.status === 200) return true
    return this.getScores(cycleId, options).then(
      () => true,
      (error: unknown) => {
        if (error instanceof ApiError && error.kind === 'not_found') return false
        throw error
      },
    )
  }

  /** Uploads an image. `created`: the service did not have it before. */
  async putImage(
    key: ImageKey,
    jpeg: Uint8Array,
    options?: CallOptions,
  ): Promise<ImageStored & { readonly created: boolean }> {
    const call = await imageCall(key, jpeg)
    const reply = await this.send(call, options)
    return { ...resultOf('putImage', call, reply), created: reply.status === 201 }
  }

  getHealth(options?: CallOptions): Promise<Health> {
    return this.#result('getHealth', plainCall('getHealth'), options)
  }

  /** Reports placements. A record replaces the stored one with the same `placement_id`. */
  async postOutcomes(outcomes: readonly Outcome[], options?: CallOptions): Promise<OutcomesResponse> {
    const call = await jsonCall('postOutcomes', JSON.stringify({ outcomes }), this.#gzip)
    return this.#result('postOutcomes', call, options)
  }

  getWeights(options?: CallOptions): Promise<WeightsState> {
    return this.#result('getWeights', plainCall('getWeights'), options)
  }

  async putWeights(weights: WeightsRequest, options?: CallOptions): Promise<WeightsAck> {
    return this.#result(
      'putWeights',
      await jsonCall('putWeights', JSON.stringify(weights), this.#gzip),
      options,
    )
  }

  /**
   * Sends a call until a response arrives that is not temporary, with the same bytes each time. Rejects with the last
   * failure when `retryTimeoutMs` has passed: an `ApiError`, `ResponseError` or `ConnectionError`.
   */
  async send(call: Call, { signal }: CallOptions = {}): Promise<Reply> {
    const url = this.#urlOf(call)
    const giveUpAtMs = performance.now() + this.#policy.retryTimeoutMs
    const random = this.#options.random ?? Math.random
    for (let retryCount = 0; ; retryCount++) {
      signal?.throwIfAborted()
      const outcome = await this.#attempt(url, call, retryCount, signal)
      const isError = outcome instanceof Error
      if (!isError && !isTemporaryReply(call, outcome)) return outcome
      const retryAfter = isError ? null : outcome.headers.get('retry-after')
      const nextMs = waitMsOf(this.#policy, retryCount, retryAfter, random())
      const isOver = performance.now() + nextMs > giveUpAtMs || (isError && !isTemporaryError(outcome))
      const waitMs = isOver ? null : nextMs
      this.#options.onFailure?.({ call, outcome, retryCount, waitMs })
      if (waitMs === null) {
        if (!isError) throw errorOf(call, outcome)
        throw outcome instanceof ResponseError ? outcome : new ConnectionError(call, retryCount + 1, outcome)
      }
      await wait(waitMs, signal)
    }
  }

  get #gzip(): boolean {
    return this.#options.gzip ?? true
  }

  async #sendCycle(
    json: string,
    cycleId: string | null,
    options: CallOptions | undefined,
  ): Promise<CycleResponse> {
    const call = await jsonCall('postCycle', json, this.#gzip)
    return responseTo(cycleId, call, await this.send(call, options))
  }

  async #result<Id extends OperationId>(id: Id, call: Call, options?: CallOptions): Promise<ResponseOf<Id>> {
    return resultOf(id, call, await this.send(call, options))
  }

  /** One attempt: the whole response, or an error; a `ResponseError` if it is too large. Rejects only with the reason of `signal`. */
  async #attempt(
    url: URL,
    call: Call,
    retryCount: number,
    signal: AbortSignal | undefined,
  ): Promise<Reply | Error> {
    const startedAtMs = performance.now()
    const { attemptTimeoutMs } = this.#policy
    const attempt = new AbortController()
    const stop = (): void => attempt.abort(signal?.reason)
    signal?.addEventListener('abort', stop, { once: true })
    const timer = setTimeout(
      () => attempt.abort(new TimeoutError(`no response within ${attemptTimeoutMs} ms`)),
      attemptTimeoutMs,
    )
    try {
      const send = this.#options.fetch ?? fetch
      const response = await send(url, {
        method: call.method,
        headers: { ...call.headers, Authorization: this.#options.apiKey },
        body: call.body as Uint8Array<ArrayBuffer> | null,
        // A redirect would turn a POST into a GET.
        redirect: 'manual',
        signal: attempt.signal,
      })
      const { status, headers } = response
      const bytesMax = this.#responseBytesMax
      const body = await readBody(response, bytesMax)
      if (body === null) return new ResponseError(call, { status }, `has more than ${bytesMax} bytes`)
      return { status, headers, body, ms: performance.now() - startedAtMs, retryCount }
    } catch (error) {
      signal?.throwIfAborted()
      return toError(error)
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', stop)
    }
  }

  #urlOf({ path }: Call): URL {
    const url = new URL(this.#base.pathname.replace(/\/$/, '') + path, this.#base)
    // A gallery `..` would leave its folder: every implementation of fetch resolves such segments.
    if (!url.pathname.endsWith(path)) throw new TypeError(`a path cannot have the segments . and ..: ${path}`)
    return url
  }
}

function policyOf(options: ClientOptions): RetryPolicy {
  const policy: Record<keyof RetryPolicy, number> = { ...defaultPolicy }
  for (const name of Object.keys(policy) as (keyof RetryPolicy)[]) {
    const value = (policy[name] = options[name] ?? policy[name])
    // Written so that NaN fails. Only `retryTimeoutMs` may be infinite.
    const isValid = value >= 0 && (name === 'retryTimeoutMs' || value <= timerMsMax)
    if (!isValid) throw new TypeError(`${name} must be a number of milliseconds, not ${value}`)
  }
  return policy
}

/** Whether the same bytes may receive another response later. */
function isTemporaryReply(call: Call, reply: Reply): boolean {
  if (isTemporaryStatus(reply.status)) return true
  // The status first: a result may have tens of megabytes.
  const mayBeRefusal = call.id === 'postCycle' && reply.status === errorTable.unprocessable.status
  return mayBeRefusal && isFutureRefusal(errorOf(call, reply))
}

/** The whole body, decompressed; null if it has more than `bytesMax` bytes, of which the rest is not received. */
async function readBody(response: Response, bytesMax: number): Promise<Uint8Array | null> {
  const stream = response.body as ReadableStream<Uint8Array> | null
  if (stream === null) return new Uint8Array()
  const reader = stream.getReader()
  const chunks: Uint8Array[] = []
  let bytes = 0
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    bytes += read.value.length
    if (bytes > bytesMax) {
      await reader.cancel()
      return null
    }
    chunks.push(read.value)
  }
  const whole = new Uint8Array(bytes)
  let offset = 0
  for (const chunk of chunks) {
    whole.set(chunk, offset)
    offset += chunk.length
  }
  return whole
}

/** The id of a cycle that is JSON; null if it has none, which the service refuses. */
function cycleIdOf(json: string): string | null {
  try {
    const { cycle_id } = JSON.parse(json) as { readonly cycle_id?: unknown }
    return typeof cycle_id === 'string' ? cycle_id : null
  } catch {
    return null
  }
}

function responseTo(cycleId: string | null, call: Call, reply: Reply): CycleResponse {
  const response = resultOf(call.id === 'getScores' ? 'getScores' : 'postCycle', call, reply)
  if (cycleId !== null && response.cycle_id !== cycleId)
    throw new ResponseError(call, reply, `is for cycle ${response.cycle_id}, not ${cycleId}`)
  return response
}

/** The result of an operation, or the error that its response is. */
function resultOf<Id extends OperationId>(id: Id, call: Call, reply: Reply): ResponseOf<Id> {
  if (!(String(reply.status) in operations[id].responses)) throw errorOf(call, reply)
  const value = jsonOf(reply)
  if (value === undefined) throw new ResponseError(call, reply, 'has a body that is not JSON')
  const path = findMismatch(id, value)
  if (path !== null) {
    const where = path === '' ? 'the body' : path
    throw new ResponseError(
      call,
      reply,
      `is not a response of the service: ${where} is missing or of another type`,
    )
  }
  return value as ResponseOf<Id>
}
