/**
 * One HTTP request and its response on a uWebSockets.js socket. A large response is sent in pieces, as fast as the client
 * reads it and without blocking the event loop for others.
 */
import { STATUS_CODES } from 'node:http'
import type { HttpRequest, HttpResponse } from 'uWebSockets.js'
import { kibibyte, mebibyte, nextTurn } from '../base/index.js'
import { assert, ServiceError, type CallProblem } from '../contract/index.js'
import type { StageClock } from '../cycle/index.js'
import { Body, type AnnouncedBody, type CallMemory } from './body.js'
import type { CycleLog } from './cycle-log.js'
import { parseTraceParent, readHeaders, type RequestHeaders, type TraceParent } from './request-headers.js'

export interface OutgoingResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

/** A request after its response, or after its work if its client has disconnected, for observers of the server. */
export interface EndedRequest {
  readonly method: string
  /** Without its query; a long one is cut. */
  readonly loggedPath: string
  /** Method and path of the operation; null if no operation fits. */
  readonly operation: string | null
  /** 0: the client disconnected before the response. */
  readonly status: number
  /** Code of an error response on the wire, and what is wrong. */
  readonly code: string | undefined
  readonly problem: CallProblem | null
  /** Milliseconds since 1970. */
  readonly receivedAtMs: number
  /** Times of `performance.now()`. */
  readonly startedAt: number
  readonly endedAt: number
  readonly bytesIn: number
  readonly bytesOut: number
  readonly stages: (StageClock & Pick<CycleLog, 'cycleId'>) | null
  /** The trace that the request belongs to, if its header names one. */
  readonly trace: TraceParent | null
}

/** A larger body is sent in pieces. uWebSockets.js copies what the socket does not accept of a body sent as a whole. */
export const wholeBodyBytesMax = 16 * kibibyte
/**
 * Bytes that all large responses together write to their sockets in one turn of the event loop, and the minimum that each
 * writes. The kernel accepts megabytes for a client that does not read, and the event loop waits while it copies them.
 */
const turnBytesMax = 2 * mebibyte
const pieceBytesMin = 64 * kibibyte
/** The path of an unknown operation has any length. */
const loggedPathCharsMax = 200
/** Interval of attempts to write to a full socket. They keep uWebSockets.js from closing the connection after 10 s. */
const retryMs = 2000
/** A client that reads nothing for this long is disconnected. */
const stallMsMax = 60_000

/** Large responses in progress. */
let piecesCount = 0

/** Responses that are being sent in pieces. */
export function sendingCount(): number {
  return piecesCount
}

export class Exchange implements EndedRequest {
  readonly method: string
  readonly path: string
  readonly receivedAtMs: number
  readonly startedAt = performance.now()
  /** Set when the request is reported; NaN until then. */
  endedAt = NaN
  bytesIn = 0
  readonly headers: RequestHeaders
  /** The client requests `Server-Timing`: `?timing` in the query or an `X-Timing` header. */
  readonly wantsTiming: boolean
  readonly trace: TraceParent | null
  operation: string | null = null
  /** Set for a cycle. */
  stages: CycleLog | null = null
  bytesOut = 0
  status = 0
  code: string | undefined
  problem: CallProblem | null = null
  /** Level of the request's log line. */
  logLevel: 'info' | 'debug' = 'info'
  readonly body: Body
  readonly #memory: CallMemory
  readonly #response: HttpResponse
  readonly #onEnd: (exchange: Exchange) => void
  #ended = false
  #isSending = false
  #retryTimer: NodeJS.Timeout | undefined
  #abortController: AbortController | null = null

  /**
   * `onEnd` is called once, when the response is sent or the client has disconnected. The work may still go on.
   * `watchConnection` follows in the same turn of the event loop, unless the exchange has ended by then.
   */
  constructor(
    response: HttpResponse,
    request: HttpRequest,
    receivedAtMs: number,
    memory: CallMemory,
    onEnd: (exchange: Exchange) => void,
  ) {
    this.#response = response
    this.#onEnd = onEnd
    this.method = request.getCaseSensitiveMethod()
    this.path = request.getUrl()
    this.receivedAtMs = receivedAtMs
    this.headers = readHeaders(request)
    const query = request.getQuery()
    this.wantsTiming = (query !== '' && /(^|&)timing(=|&|$)/.test(query)) || this.headers.xTiming !== ''
    this.trace = parseTraceParent(this.headers.traceparent)
    this.#memory = memory
    this.body = new Body(announcedBody(this.headers), response, memory)
  }

  /** Ends the exchange when the client disconnects. */
  watchConnection(): void {
    this.#response.onAborted(() => this.#end())
  }

  /** Sends the response, unless the client has disconnected. `close` announces that the connection ends with it. */
  send(response: OutgoingResponse, close: boolean): void {
    if (!this.#ended) this.#write(response, close || this.headers.requestsClose)
  }

  /**
   * What must happen before the response is sent; null: nothing. If the connection ends with the response, the rest of the
   * request's body is drained first.
   */
  beforeSending(close: boolean): Promise<void> | null {
    if (this.#ended) return null
    const { closesConnection, hasAmbiguousEnd } = this.headers
    // While this request is pending, uWebSockets.js closes the connection instead of serving the requests that follow.
    if (hasAmbiguousEnd) return nextTurn()
    return (close || closesConnection) && !this.body.isComplete ? this.body.drain() : null
  }

  get loggedPath(): string {
    const { path } = this
    return path.length <= loggedPathCharsMax ? path : `${path.slice(0, loggedPathCharsMax)}…`
  }

  get ended(): boolean {
    return this.#ended
  }

  /** Aborted when the connection has ended. Few operations wait, so it is made on demand. */
  get signal(): AbortSignal {
    this.#abortController ??= new AbortController()
    if (this.#ended) this.#abortController.abort(disconnected)
    return this.#abortController.signal
  }

  /** Holds memory for the response, when nothing reads the request any longer: null, or `unavailable`. */
  holdResponse(bytes: number): ServiceError | null {
    return this.#memory.addResponse(bytes)
  }

  /**
   * Once, when nothing reads the request's body any longer. The response may still have to be sent.
   */
  workEnded(): void {
    // Nobody waits any longer: to abort it would cost an event.
    this.#abortController = null
    this.body.release()
    this.#memory.workEnded()
  }

  /** Fixes what the log and the observer read, once. */
  markReported(): void {
    assert(Number.isNaN(this.endedAt), 'a request is reported once')
    this.endedAt = performance.now()
    this.bytesIn = this.body.bytesReceived
  }

  /** What is wrong with the call, which is then logged at info. Nothing changes once it is reported. */
  setRefusal(code: string, problem: CallProblem): void {
    if (!Number.isNaN(this.endedAt)) return
    this.code = code
    this.problem = problem
    this.logLevel = 'info'
  }

  /** Closes the connection without a response. */
  abort(): void {
    if (!this.#ended) this.#response.close()
  }

  #write({ status, headers, body }: OutgoingResponse, close: boolean): void {
    assert(this.status === 0, 'an exchange has one response')
    this.status = status
    const response = this.#response
    response.cork(() => {
      response.writeStatus(`${status} ${STATUS_CODES[status] ?? ''}`)
      for (const [name, value] of Object.entries(headers)) response.writeHeader(name, value)
      // Announced only. Were uWebSockets.js to close the connection, it would drop what a slow client has not read yet.
      if (close) response.writeHeader('Connection', 'close')
      if (this.method === 'HEAD') {
        if (this.headers.hasAmbiguousEnd) {
          response.close()
          return
        }
        // endWithoutBody with a length would leave the connection waiting for a body.
        response.writeHeader('Content-Length', String(body.length))
        response.endWithoutBody()
        this.#end()
      } else if (body.length <= wholeBodyBytesMax) {
        this.bytesOut = body.length
        response.end(body, this.headers.hasAmbiguousEnd)
        this.#end()
      } else this.#sendInPieces(body)
    })
  }

  #sendInPieces(body: Uint8Array): void {
    const response = this.#response
    piecesCount++
    this.#isSending = true
    let acceptedAt = 0
    let isScheduled = false
    /** Returns false once everything is sent. */
    const sendPiece = (): boolean => {
      const pieceBytes = Math.max(pieceBytesMin, Math.floor(turnBytesMax / piecesCount))
      const piece = body.subarray(this.bytesOut, this.bytesOut + pieceBytes)
      const [isAccepted, isDone] = response.tryEnd(piece, body.length)
      if (isDone) {
        this.bytesOut = body.length
        this.#end()
        return false
      }
      const sent = response.getWriteOffset()
      if (sent > this.bytesOut) acceptedAt = performance.now()
      this.bytesOut = sent
      if (isAccepted) scheduleNext()
      return true
    }
    const scheduleNext = (): void => {
      if (isScheduled) return
      isScheduled = true
      setImmediate(() => {
        isScheduled = false
        if (!this.#ended) response.cork(sendPiece)
      })
    }
    // Most responses are sent at once: neither a timer nor a listener is needed.
    if (!sendPiece()) return
    acceptedAt = performance.now()
    this.#retryTimer = setInterval(() => {
      if (performance.now() - acceptedAt > stallMsMax) this.abort()
      else scheduleNext()
    }, retryMs)
    response.onWritable(() => {
      scheduleNext()
      // uWebSockets.js need not call again for this turn.
      return true
    })
  }

  #end(): void {
    if (this.#ended) return
    this.#ended = true
    clearInterval(this.#retryTimer)
    if (this.#isSending) piecesCount--
    assert(piecesCount >= 0, 'each response in pieces is counted once')
    this.body.refuse(disconnected)
    this.body.endDrain()
    this.#abortController?.abort(disconnected)
    // First, since `onEnd` may throw: nobody else releases what the call holds.
    this.#memory.connectionEnded()
    this.#onEnd(this)
  }
}

/** One for all requests: a stack trace for each would take longer than the rest of a short request. */
const disconnected = new ServiceError({ code: 'disconnected' })

function announcedBody({ contentLength, transferEncoding }: RequestHeaders): AnnouncedBody {
  if (transferEncoding !== '') return { isPresent: true, bytes: NaN }
  return { isPresent: Number(contentLength) > 0, bytes: Number(contentLength) }
}
