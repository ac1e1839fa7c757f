/**
 * The request pipeline: authentication, routing, operation, compression and response, in the order of docs/contract.md. It
 * turns errors into responses and writes one log line per request. Read `#respond` first.
 */
import type { Logger } from 'pino'
import type { HttpRequest, HttpResponse } from 'uWebSockets.js'
import { callProblemText, memberNames, ServiceError, type CallProblem } from '../contract/index.js'
import { StoreError } from '../store/index.js'
import type { ApiKeys } from './api-keys.js'
import { CallMemory, type BodyMemory } from './body.js'
import { roundedMs } from './cycle-log.js'
import { Exchange, wholeBodyBytesMax, type EndedRequest, type OutgoingResponse } from './exchange.js'
import { LineLimit } from './line-limit.js'
import { handlers, jsonHeaders, type OperationParts } from './operations.js'
import { gzipResponse, shouldGzip } from './response-encoding.js'
import { findRoute } from './router.js'

/** Of a 401 (RFC 9110, 15.5.2). The scheme has no standard name: the header contains only the key. */
const challenge = 'ApiKey'

export interface RequestHandlerParts {
  readonly apiKeys: ApiKeys
  readonly bodies: BodyMemory
  readonly log: Logger
  readonly operationParts: OperationParts
}

/** Returns immediately and does not throw. */
export type OnRequestEnded = (request: EndedRequest) => void

export class RequestHandler {
  readonly #parts: RequestHandlerParts
  readonly #open = new Set<Exchange>()
  /** Cycles whose client has disconnected: they are reported with their result. */
  readonly #unreported = new Set<Exchange>()
  readonly #keylessLines = new LineLimit()
  #closing = false
  #onIdle: (() => void) | null = null
  #onEnded: OnRequestEnded | null = null

  constructor(parts: RequestHandlerParts) {
    this.#parts = parts
  }

  handle(response: HttpResponse, request: HttpRequest): void {
    const { bodies, log, operationParts } = this.#parts
    const memory = new CallMemory(bodies, () => this.#released(exchange))
    const exchange = new Exchange(response, request, operationParts.clock(), memory, (ended) =>
      this.#ended(ended),
    )
    this.#open.add(exchange)
    this.#serve(exchange).catch((error: unknown) => {
      log.error(
        { err: error, method: exchange.method, path: exchange.loggedPath },
        'the response could not be sent',
      )
      exchange.abort()
    })
    if (!exchange.ended) exchange.watchConnection()
  }

  /** Calls `onEnded` for each request from now on. */
  observe(onEnded: OnRequestEnded): void {
    this.#onEnded = onEnded
  }

  /** Calls whose connection or work has not ended. */
  get openCount(): number {
    return this.#open.size
  }

  /** Refuses bodies that are still arriving, and from now on closes each connection after its response. */
  close(): void {
    this.#closing = true
    for (const exchange of this.#open) exchange.body.refuse(shuttingDown())
  }

  /** Sends the responses that wait for the rest of a request's body. */
  endDrains(): void {
    for (const exchange of this.#open) exchange.body.endDrain()
  }

  /** Resolves when no request is open. */
  idle(): Promise<void> {
    if (this.#open.size === 0) return Promise.resolve()
    return new Promise((resolve) => (this.#onIdle = resolve))
  }

  /** Does not wait for what is known at once: such a response is sent in the turn in which its request arrived. */
  async #serve(exchange: Exchange): Promise<void> {
    let outgoing: OutgoingResponse
    try {
      const responding = this.#respond(exchange)
      outgoing = responding instanceof Promise ? await responding : responding
    } catch (error) {
      outgoing = this.#errorResponse(exchange, error)
    } finally {
      exchange.workEnded()
    }
    const before = exchange.beforeSending(this.#closing)
    if (before !== null) await before
    exchange.send(outgoing, this.#closing)
  }

  #respond(exchange: Exchange): OutgoingResponse | Promise<OutgoingResponse> {
    const route = findRoute(exchange.method, exchange.path)
    if (!(route instanceof ServiceError)) exchange.operation = route.name
    const isPublic = !(route instanceof ServiceError) && !route.operation.needsKey
    if (!isPublic && !this.#isAuthorized(exchange)) return this.#errorResponse(exchange, unauthorized)
    if (exchange.headers.hasAmbiguousEnd) throw new ServiceError({ code: 'ambiguous_end' })
    if (route instanceof ServiceError) throw route
    if (this.#closing) throw shuttingDown()
    const { id, operation, parameters } = route
    exchange.logLevel = operation.logLevel
    const epoch = isPublic ? null : this.#ownerEpoch()
    let making: OutgoingResponse | Promise<OutgoingResponse>
    try {
      making = handlers[id]({ parts: this.#parts.operationParts, exchange, parameters })
    } catch (error) {
      throw this.#replacement(epoch, error) ?? error
    }
    return making instanceof Promise
      ? this.#completeLater(exchange, making, epoch)
      : this.#complete(exchange, making, epoch)
  }

  /** No key is empty, so a request without one needs no comparison. */
  #isAuthorized({ headers: { authorization } }: Exchange): boolean {
    return authorization.length > 0 && this.#parts.apiKeys.accepts(authorization)
  }

  async #completeLater(
    exchange: Exchange,
    making: Promise<OutgoingResponse>,
    epoch: number | null,
  ): Promise<OutgoingResponse> {
    const response = await making.catch((error: unknown) => {
      throw this.#replacement(epoch, error) ?? error
    })
    return this.#complete(exchange, response, epoch)
  }

  /** Compresses the response for a client that accepts it, and holds its memory. */
  #complete(
    exchange: Exchange,
    response: OutgoingResponse,
    epoch: number | null,
  ): OutgoingResponse | Promise<OutgoingResponse> {
    const replacement = this.#replacement(epoch)
    if (replacement !== null) throw replacement
    // A body without a reader would arrive unnoticed during the compression, and `send` would wait for its end.
    const isPlain = !exchange.body.isComplete || !shouldGzip(response, exchange.headers.acceptEncoding)
    if (isPlain) return held(exchange, response)
    return gzipResponse(response).then((encoded) => held(exchange, encoded))
  }

  /** The epoch in which this process is the owner; each takeover has a different one. Throws on a standby. */
  #ownerEpoch(): number {
    const { role, replication } = this.#parts.operationParts.store
    if (role === 'standby') throw standby()
    return replication?.epoch ?? 0
  }

  /**
   * The response instead of one that was made in `epoch`, if the process has lost the environment meanwhile: what it has read
   * may be out of date. `error`: what the handler threw, which the log must not lack. Null: `epoch` has not ended, or
   * the operation is public, for which there is none.
   */
  #replacement(epoch: number | null, error?: unknown): ServiceError | null {
    if (epoch === null) return null
    const { role, replication } = this.#parts.operationParts.store
    if (role === 'owner' && (replication?.epoch ?? 0) === epoch) return null
    return standby(error instanceof ServiceError ? error.cause : error)
  }

  #errorResponse(exchange: Exchange, error: unknown): OutgoingResponse {
    const refusal = serviceErrorOf(error)
    const cause: unknown = refusal === error ? refusal.cause : error
    exchange.setRefusal(refusal.code, problemOf(refusal))
    if (refusal.status >= 500 && cause !== undefined)
      this.#parts.log.error(
        { err: cause, method: exchange.method, path: exchange.loggedPath },
        'a request failed',
      )
    return refusal === unauthorized ? unauthorizedResponse : refusalResponse(refusal)
  }

  #ended(exchange: Exchange): void {
    const { stages } = exchange
    if (exchange.status === 200) stages?.lap('send')
    if (exchange.status === 0 && stages !== null && this.#open.has(exchange)) this.#unreported.add(exchange)
    else this.#report(exchange)
  }

  /** To the log and to the observer, if there is one. */
  #report(exchange: Exchange): void {
    const { log } = this.#parts
    exchange.markReported()
    if (log.isLevelEnabled(exchange.logLevel)) {
      const omitted = exchange.status === 401 ? this.#keylessLines.take(exchange.endedAt) : 0
      if (omitted !== null) log[exchange.logLevel](logFields(exchange, omitted), logMessage(exchange))
    }
    this.#onEnded?.(exchange)
  }

  #released(exchange: Exchange): void {
    this.#open.delete(exchange)
    if (this.#unreported.delete(exchange)) this.#report(exchange)
    if (this.#open.size === 0) this.#onIdle?.()
  }
}

function logMessage({ stages, status }: Exchange): string {
  if (stages === null) return 'request'
  if (stages.summary !== null) return 'cycle scored'
  return status === 200 ? 'cycle repeated' : 'request'
}

function logFields(exchange: Exchange, omitted: number): object {
  return {
    method: exchange.method,
    path: exchange.loggedPath,
    status: exchange.status || 'aborted',
    code: exchange.code,
    problem: exchange.problem === null ? undefined : callProblemText(exchange.problem),
    ...exchange.stages?.fields(),
    trace_id: exchange.trace?.traceId,
    ms: roundedMs(exchange.endedAt - exchange.startedAt),
    bytes_in: exchange.bytesIn,
    bytes_out: exchange.bytesOut,
    omitted: omitted === 0 ? undefined : omitted,
  }
}

/** The response, whose memory is held. Throws `unavailable`. One that is sent at once always fits, such as that of health. */
function held(exchange: Exchange, response: OutgoingResponse): OutgoingResponse {
  if (response.body.length <= wholeBodyBytesMax) return response
  const refusal = exchange.holdResponse(response.body.length)
  if (refusal !== null) throw refusal
  return response
}

/** One for all requests: anyone can send any number of them, and a stack trace for each would cost most of their time. */
const unauthorized = new ServiceError({ code: 'unknown_key' })

function refusalResponse(refusal: ServiceError): OutgoingResponse {
  return {
    status: refusal.status,
    headers: {
      ...jsonHeaders,
      ...(refusal.kind === 'unauthorized' ? { 'WWW-Authenticate': challenge } : {}),
      ...(refusal.allow === undefined ? {} : { Allow: refusal.allow }),
      ...(refusal.retryAfterS === undefined ? {} : { 'Retry-After': String(refusal.retryAfterS) }),
    },
    body: Buffer.from(JSON.stringify(refusal.toRecord())),
  }
}

const unauthorizedResponse = refusalResponse(unauthorized)

/** A storage failure is not a bug of this program: 503, not 500. */
function serviceErrorOf(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error
  if (error instanceof StoreError) return new ServiceError({ code: 'storage_failed' })
  return new ServiceError({ code: 'internal' })
}

/** Quoted texts and unknown names are the client's own, and may be private. */
function problemOf({ reason, fields }: ServiceError): CallProblem {
  const [first] = fields ?? []
  if (first === undefined) return { reason, field: null }
  const path = first.path.replace(/[^.[\]]+/g, (name) => (isPublicName(name) ? name : '…'))
  return { reason, field: { path, problem: first.problem.replace(/"(?:[^"\\]|\\.)*"/g, '"…"') } }
}

/** A member of the contract, a part of a path to an image, or an index. */
function isPublicName(name: string): boolean {
  return memberNames.has(name) || ['NN', 'X-Content-SHA256'].includes(name) || /^\d+$/.test(name)
}

/** `cause`: a failure that came first. That another process has become the owner is none. */
function standby(cause?: unknown): ServiceError {
  const failure = cause instanceof StoreError && cause.code === 'standby' ? undefined : cause
  return new ServiceError({ code: 'standby' }, { retryAfterS: 1, cause: failure })
}

function shuttingDown(): ServiceError {
  return new ServiceError({ code: 'shutting_down' })
}
