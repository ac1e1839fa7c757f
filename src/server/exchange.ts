/**
 * One request and its answer on a uWebSockets.js socket: what of the request outlives its first turn, the body as it
 * arrives, and an answer that is sent as fast as the client reads it.
 */
import type { HttpRequest, HttpResponse } from 'uWebSockets.js'
import { ServiceError } from '../contract/index.js'
import type { StageClock } from '../cycle/index.js'
import type { BodyHold } from './body-budget.js'
import { largeBytesMin, type BodyTurns } from './body-turns.js'
import { GrowingBody } from './growing-body.js'
import type { SpareBuffers } from './spare-buffers.js'

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /** Called once, when nothing reads the body any more. */
  readonly release?: () => void
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

export class Exchange {
  readonly method: string
  readonly path: string
  readonly receivedAtMs: number
  readonly startedAt = performance.now()
  readonly headers: {
    readonly authorization: string
    readonly contentType: string
    readonly contentEncoding: string
    readonly contentLength: string
    readonly acceptEncoding: string
    readonly contentSha256: string | undefined
    /** All of them, joined by commas; empty where there is none. */
    readonly forwardedFor: string
    /** Readers may differ about where the request ends: what follows it on the connection must not be served. */
    readonly isEndUnclear: boolean
  }
  /** Whether the client asks for `Server-Timing`: `?timing` in the query or an `X-Timing` header. */
  readonly wantsTiming: boolean
  /** Set for a cycle. */
  stages: StageClock | null = null
  bytesReceived = 0
  bytesSent = 0
  status = 0
  /** Of an answer that is an error, for the log: its code on the wire, and in words of our own what failed us. */
  errorCode: string | undefined
  errorReason: string | undefined
  /** What the request's body takes up. Whoever made the exchange calls `releaseBody`. */
  readonly bodyHold: BodyHold
  readonly #bodyTurns: BodyTurns
  readonly #response: HttpResponse
  readonly #onEnd: (exchange: Exchange) => void
  #ended = false
  #paused = false
  #nextOffer: NodeJS.Timeout | undefined
  #refuseBody: ((error: Error) => void) | null = null
  #releaseAnswer: (() => void) | undefined
  #giveBack: (() => void) | null = null

  /** Takes the request over; `onEnd` is called once, when the answer is out or the client is gone. */
  constructor(
    response: HttpResponse,
    request: HttpRequest,
    receivedAtMs: number,
    bodies: { readonly hold: BodyHold; readonly turns: BodyTurns },
    onEnd: (exchange: Exchange) => void,
  ) {
    this.#response = response
    this.bodyHold = bodies.hold
    this.#bodyTurns = bodies.turns
    this.#onEnd = onEnd
    this.method = request.getCaseSensitiveMethod()
    this.path = request.getUrl()
    this.receivedAtMs = receivedAtMs
    this.wantsTiming = /(^|&)timing(=|&|$)/.test(request.getQuery()) || request.getHeader('x-timing') !== ''
    this.headers = {
      authorization: request.getHeader('authorization'),
      contentType: request.getHeader('content-type'),
      contentEncoding: request.getHeader('content-encoding'),
      contentLength: request.getHeader('content-length'),
      acceptEncoding: request.getHeader('accept-encoding'),
      ...rarerHeaders(request),
    }
    response.onAborted(() => {
      this.#refuseBody?.(new ServiceError('bad_request', 'the client left'))
      this.#end()
    })
  }

  /** The other end of the connection: 4 or 16 bytes, or none when it is gone. */
  get peer(): Uint8Array {
    return this.#ended ? new Uint8Array() : new Uint8Array(this.#response.getRemoteAddress())
  }

  get ended(): boolean {
    return this.#ended
  }

  get readingBody(): boolean {
    return this.#refuseBody !== null
  }

  /**
   * The whole body, at most `bytesMax` of it. Must be called in the turn in which the exchange was made. Large ones stand
   * in a buffer of `spare`, until `releaseBody`. `onStart` hears its first bytes while they arrive, and may refuse it by
   * throwing. Rejects with that, with `too_large` past the bound, with `unavailable` past the budget of all bodies, and
   * with `error` of `refuseBody`.
   */
  readBody(
    bytesMax: number,
    timeMsMax: number,
    { spare = null, onStart = () => undefined }: BodyOptions = {},
  ): Promise<Uint8Array> {
    const declared = Number(this.headers.contentLength)
    if (declared > bytesMax) return Promise.reject(tooLarge(bytesMax))
    return new Promise((resolve, reject) => {
      // None before the body is let in. Let go of at the end: the socket keeps the listener until the answer is out.
      let body: GrowingBody | null = null
      const timer = setTimeout(() => {
        stop()
        this.abort()
        reject(new ServiceError('bad_request', 'the body took too long'))
      }, timeMsMax)
      const arriving = { pause: () => this.#pause(), resume: () => this.#resume() }
      const stop = (): void => {
        clearTimeout(timer)
        this.#bodyTurns.ended(arriving)
        this.#refuseBody = null
        body = null
      }
      this.#refuseBody = (error) => {
        stop()
        reject(error)
      }
      this.#response.onData((chunk, isLast) => {
        const isFirst = this.bytesReceived === 0
        this.bytesReceived += chunk.byteLength
        if (this.#refuseBody === null) return
        const refusal =
          (isFirst ? caught(() => onStart(new Uint8Array(chunk))) : null) ??
          this.#admit(chunk.byteLength, bytesMax)
        if (refusal !== null) {
          this.#refuseBody(refusal)
          return
        }
        body ??= this.#newBody(declared > 0 ? declared : bytesMax, spare)
        body.append(chunk)
        if (!isLast) {
          if (this.bytesReceived >= largeBytesMin) this.#bodyTurns.received(arriving, chunk.byteLength)
          return
        }
        const bytes = body.bytes()
        stop()
        this.#pause()
        resolve(bytes)
      })
    })
  }

  /** Whether it was read or refused, no one uses the body any more: its memory serves the next one. */
  releaseBody(): void {
    this.#giveBack?.()
    this.#giveBack = null
    this.bodyHold.release()
  }

  /** Reads nothing more of the connection until the answer is sent. */
  hold(): void {
    this.#pause()
  }

  /** Gives up a body that is still arriving. */
  refuseBody(error: ServiceError): void {
    this.#refuseBody?.(error)
  }

  /** Sends the answer, unless the client is gone. `close`: tells the client that the connection ends with it. */
  send(answer: Answer, close: boolean): void {
    if (this.#ended) {
      answer.release?.()
      return
    }
    this.#releaseAnswer = answer.release
    this.status = answer.status
    const { body } = answer
    this.#response.cork(() => {
      this.#resume()
      this.#response.writeStatus(statusLines[answer.status] ?? String(answer.status))
      for (const [name, value] of Object.entries(answer.headers)) this.#response.writeHeader(name, value)
      // Said, not done: uWebSockets.js would drop what a slow reader has not taken. The listener closes what is left.
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

  /** Cuts the connection. */
  abort(): void {
    if (!this.#ended) this.#response.close()
  }

  #newBody(bytesMax: number, spare: SpareBuffers | null): GrowingBody {
    const body = new GrowingBody(bytesMax, spare)
    this.#giveBack = () => spare?.give(body.bytes())
    return body
  }

  /** Takes the next bytes of a body into account, or says why they are too many. */
  #admit(bytes: number, bytesMax: number): ServiceError | null {
    return this.bytesReceived > bytesMax ? tooLarge(bytesMax) : this.bodyHold.add(bytes)
  }

  /**
   * Offers the body until the client's socket has taken all of it. By the clock: a paused socket never turns writable
   * again, and one that is not paused is closed when the client's next request arrives.
   */
  #sendInPieces(body: Uint8Array): void {
    let waitMs = offerMsMin
    let takenAt = performance.now()
    const offer = (): void => {
      this.#resume()
      // The last piece ends the response, and with it the power over its socket.
      const [, done] = this.#response.tryEnd(body.subarray(this.bytesSent), body.length)
      if (done) {
        this.bytesSent = body.length
        this.#end()
        return
      }
      this.#pause()
      const sent = this.#response.getWriteOffset()
      if (sent > this.bytesSent) takenAt = performance.now()
      waitMs = sent > this.bytesSent ? offerMsMin : Math.min(waitMs * 2, offerMsMax)
      this.bytesSent = sent
      this.#nextOffer = setTimeout(() => {
        if (performance.now() - takenAt > takeMsMax) this.abort()
        else this.#response.cork(offer)
      }, waitMs)
    }
    offer()
  }

  /** uWebSockets.js closes a connection whose next request arrives before this one is answered: stop reading. */
  #pause(): void {
    if (this.#ended || this.#paused) return
    this.#paused = true
    this.#response.pause()
  }

  #resume(): void {
    if (!this.#paused) return
    this.#paused = false
    this.#response.resume()
  }

  #end(): void {
    if (this.#ended) return
    this.#ended = true
    clearTimeout(this.#nextOffer)
    this.#releaseAnswer?.()
    this.#onEnd(this)
  }
}

export interface BodyOptions {
  readonly spare?: SpareBuffers | null
  readonly onStart?: (bytes: Uint8Array) => void
}

/** What a check throws. */
function caught(check: () => void): Error | null {
  try {
    check()
    return null
  } catch (error) {
    return error as Error
  }
}

interface RarerHeaders {
  readonly contentSha256: string | undefined
  readonly forwardedFor: string
  readonly isEndUnclear: boolean
}

/** Headers for which `getHeader` does not do: it gives '' for one that is absent, and the first of several. */
function rarerHeaders(request: HttpRequest): RarerHeaders {
  // An empty one is present and malformed.
  let contentSha256: string | undefined
  const forwardedFor: string[] = []
  const lengths: string[] = []
  const codings: string[] = []
  request.forEach((key, text) => {
    if (key === 'x-content-sha256') contentSha256 = text
    else if (key === 'x-forwarded-for') forwardedFor.push(text)
    else if (key === 'content-length') lengths.push(text)
    else if (key === 'transfer-encoding') codings.push(text)
  })
  return {
    contentSha256,
    forwardedFor: forwardedFor.join(','),
    // uWebSockets.js takes the first length, and any coding for chunked; whatever stands in front may not.
    isEndUnclear: lengths.length > 1 || codings.length > 1 || !/^(chunked)?$/i.test(codings[0] ?? ''),
  }
}

function tooLarge(bytesMax: number): ServiceError {
  return new ServiceError('too_large', `the body is larger than ${bytesMax} bytes`)
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
