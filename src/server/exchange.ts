/**
 * One request and its answer on a uWebSockets.js socket: what of the request outlives its first turn, and an answer that
 * is sent as fast as the client reads it.
 */
import type { HttpRequest, HttpResponse } from 'uWebSockets.js'
import type { StageClock } from '../cycle/index.js'
import type { BodyHold } from './body-budget.js'
import type { BodyTurns } from './body-turns.js'
import { IncomingBody, type AnnouncedBody } from './incoming-body.js'
import { SocketFlow } from './socket-flow.js'

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

/**
 * Larger bodies go out in pieces, so that a slow reader holds one copy and not two. As large as the buffer into which
 * uWebSockets.js copies what a socket does not take.
 */
const wholeBodyBytesMax = 16 * 1024
/** Between two offers of a body to a socket that is full: at first, and when it stays full. */
const offerMsMin = 1
const offerMsMax = 50
/** A client that takes nothing for so long is cut off. */
const takeMsMax = 60_000
/** By its length alone uWebSockets.js knows `Connection: close`. */
const closeLength = 5

export class Exchange {
  readonly method: string
  readonly path: string
  readonly receivedAtMs: number
  readonly startedAt = performance.now()
  readonly headers: RequestHeaders
  /** Whether the client asks for `Server-Timing`: `?timing` in the query or an `X-Timing` header. */
  readonly wantsTiming: boolean
  /** Set for a cycle. */
  stages: StageClock | null = null
  bytesSent = 0
  status = 0
  /** Of an answer that is an error, for the log: its code on the wire, and in words of our own what failed us. */
  errorCode: string | undefined
  errorReason: string | undefined
  /** Whoever made the exchange calls `release` of it. */
  readonly body: IncomingBody
  readonly #response: HttpResponse
  readonly #flow: SocketFlow
  readonly #onEnd: (exchange: Exchange) => void
  #ended = false
  #held = false
  #nextOffer: NodeJS.Timeout | undefined

  /** Takes the request over; `onEnd` is called once, when the answer is out or the client is gone. */
  constructor(
    response: HttpResponse,
    request: HttpRequest,
    receivedAtMs: number,
    bodies: { readonly hold: BodyHold; readonly turns: BodyTurns },
    onEnd: (exchange: Exchange) => void,
  ) {
    this.#response = response
    this.#flow = new SocketFlow(response)
    this.#onEnd = onEnd
    this.method = request.getCaseSensitiveMethod()
    this.path = request.getUrl()
    this.receivedAtMs = receivedAtMs
    this.wantsTiming = /(^|&)timing(=|&|$)/.test(request.getQuery()) || request.getHeader('x-timing') !== ''
    this.headers = headersOf(request)
    this.body = new IncomingBody(announced(request), { response, flow: this.#flow }, bodies)
    response.onAborted(() => this.#end())
  }

  /** The other end of the connection: 4 or 16 bytes, or none when it is gone. */
  get peer(): Uint8Array {
    return this.#ended ? new Uint8Array() : new Uint8Array(this.#response.getRemoteAddress())
  }

  get ended(): boolean {
    return this.#ended
  }

  /** Reads nothing more of the connection until the answer is sent. */
  pause(): void {
    this.#flow.pause()
  }

  /** The same before the body has been listened to. */
  hold(): void {
    this.#held = true
    this.pause()
  }

  /**
   * Sends the answer, unless the client is gone. `close`: tells the client that the connection ends with it. Where it
   * does, what is left of the body passes first; of one that was held, nobody knows what is left.
   */
  async send(answer: Answer, close: boolean): Promise<void> {
    if (this.#ended) return
    const isLastOfConnection = close || this.headers.connection.length === closeLength
    if (isLastOfConnection && !this.headers.isEndUnclear && !this.#held && !this.body.hasArrived) {
      await this.body.letPass()
      if (this.ended) return
    }
    this.#write(answer, isLastOfConnection || this.headers.asksForClose)
  }

  /** Cuts the connection. */
  abort(): void {
    if (!this.#ended) this.#response.close()
  }

  #write(answer: Answer, close: boolean): void {
    const { body } = answer
    this.status = answer.status
    this.#response.cork(() => {
      this.#flow.resume()
      this.#response.writeStatus(statusLines[answer.status] ?? String(answer.status))
      for (const [name, value] of Object.entries(answer.headers)) this.#response.writeHeader(name, value)
      // Said, not done: uWebSockets.js would drop what a slow reader has not taken. The listener closes what is left, and
      // the client where its `close` is one of several options, which uWebSockets.js does not see.
      if (close) this.#response.writeHeader('Connection', 'close')
      if (this.method === 'HEAD') {
        if (this.headers.isEndUnclear) {
          this.#response.close()
          return
        }
        // With arguments, endWithoutBody leaves the connection waiting for the body that it announces.
        this.#response.writeHeader('Content-Length', String(body.length))
        this.#response.endWithoutBody()
        this.#end()
      } else if (body.length <= wholeBodyBytesMax) {
        this.bytesSent = body.length
        this.#response.end(body, this.headers.isEndUnclear)
        this.#end()
      } else this.#sendInPieces(body)
    })
  }

  /**
   * Offers the body until the client's socket has taken all of it. By the clock: a paused socket never turns writable
   * again, and one that is not paused is closed when the client's next request arrives.
   */
  #sendInPieces(body: Uint8Array): void {
    let waitMs = offerMsMin
    let takenAt = performance.now()
    const offer = (): void => {
      this.#flow.resume()
      // The last piece ends the response, and with it the power over its socket.
      const [, done] = this.#response.tryEnd(body.subarray(this.bytesSent), body.length)
      if (done) {
        this.bytesSent = body.length
        this.#end()
        return
      }
      this.#flow.pause()
      const sent = this.#response.getWriteOffset()
      if (sent > this.bytesSent) takenAt = performance.now()
      waitMs = sent > this.bytesSent ? offerMsMin : Math.min(waitMs * 2, offerMsMax)
      this.bytesSent = sent
      this.#nextOffer = setTimeout(() => {
        // A socket that is paused tells nothing of its client's end, but has lost its address.
        if (this.peer.length === 0 || performance.now() - takenAt > takeMsMax) this.abort()
        else this.#response.cork(offer)
      }, waitMs)
    }
    offer()
  }

  #end(): void {
    if (this.#ended) return
    this.#ended = true
    clearTimeout(this.#nextOffer)
    this.#flow.end()
    this.body.end()
    this.#onEnd(this)
  }
}

/** What the head says of the body. */
function announced(request: HttpRequest): AnnouncedBody {
  const length = request.getHeader('content-length')
  if (request.getHeader('transfer-encoding') !== '') return { isThere: true, bytes: NaN }
  return { isThere: Number(length) > 0, bytes: Number(length) }
}

/** Lines of one name are one value, joined by commas (RFC 9110, 5.2); '' where there is none. */
interface RequestHeaders {
  readonly authorization: string
  readonly contentType: string
  readonly contentEncoding: string
  /** Of these two the first line, which is the one that uWebSockets.js takes. */
  readonly contentLength: string
  readonly connection: string
  /** `close` is among the options of `Connection` (RFC 9112, 9.6). */
  readonly asksForClose: boolean
  readonly acceptEncoding: string
  /** An empty one is present and malformed. */
  readonly contentSha256: string | undefined
  readonly forwardedFor: string
  /** Readers may differ about where the request ends: what follows it on the connection must not be served. */
  readonly isEndUnclear: boolean
}

function headersOf(request: HttpRequest): RequestHeaders {
  const values = new Map<string, string>()
  request.forEach((name, text) => {
    const before = values.get(name)
    values.set(name, before === undefined ? text : `${before},${text}`)
  })
  const valueOf = (name: string): string => values.get(name) ?? ''
  const coding = values.get('transfer-encoding')
  return {
    authorization: valueOf('authorization'),
    contentType: valueOf('content-type'),
    contentEncoding: valueOf('content-encoding'),
    contentLength: request.getHeader('content-length'),
    connection: request.getHeader('connection'),
    asksForClose: /(^|,)\s*close\s*(,|$)/i.test(valueOf('connection')),
    acceptEncoding: valueOf('accept-encoding'),
    contentSha256: values.get('x-content-sha256'),
    forwardedFor: valueOf('x-forwarded-for'),
    // uWebSockets.js takes the first length, and any coding but an empty one for chunked; whatever stands in front may not.
    isEndUnclear:
      valueOf('content-length').includes(',') || (coding !== undefined && !/^chunked$/i.test(coding)),
  }
}

const statusLines: Readonly<Record<number, string>> = {
  200: '200 OK',
  201: '201 Created',
  400: '400 Bad Request',
  401: '401 Unauthorized',
  404: '404 Not Found',
  405: '405 Method Not Allowed',
  409: '409 Conflict',
  413: '413 Content Too Large',
  415: '415 Unsupported Media Type',
  422: '422 Unprocessable Content',
  500: '500 Internal Server Error',
  503: '503 Service Unavailable',
}
