/**
 * One request and its answer on a uWebSockets.js socket: what of the request outlives its first turn, the body as it
 * arrives, and an answer that is sent as fast as the client reads it.
 */
import type { HttpRequest, HttpResponse } from 'uWebSockets.js'
import { ServiceError } from '../contract/index.js'
import type { StageClock } from '../cycle/index.js'
import { GrowingBody } from './growing-body.js'

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

/** Larger bodies go out in pieces, so that a slow reader holds one copy and not two. */
const wholeBodyBytesMax = 64 * 1024

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
  }
  /** Whether the client asks for `Server-Timing`: `?timing` in the query or an `X-Timing` header. */
  readonly wantsTiming: boolean
  /** Set for a cycle. */
  stages: StageClock | null = null
  bytesReceived = 0
  bytesSent = 0
  status = 0
  readonly #response: HttpResponse
  readonly #onEnd: (exchange: Exchange) => void
  #ended = false
  #paused = false
  #refuseBody: ((error: ServiceError) => void) | null = null

  /** Takes the request over; `onEnd` is called once, when the answer is out or the client is gone. */
  constructor(
    response: HttpResponse,
    request: HttpRequest,
    receivedAtMs: number,
    onEnd: (exchange: Exchange) => void,
  ) {
    this.#response = response
    this.#onEnd = onEnd
    this.method = request.getMethod().toUpperCase()
    this.path = request.getUrl()
    this.receivedAtMs = receivedAtMs
    this.wantsTiming = request.getQuery('timing') !== undefined || request.getHeader('x-timing') !== ''
    this.headers = {
      authorization: request.getHeader('authorization'),
      contentType: request.getHeader('content-type'),
      contentEncoding: request.getHeader('content-encoding'),
      contentLength: request.getHeader('content-length'),
      acceptEncoding: request.getHeader('accept-encoding'),
      contentSha256: headerOrNone(request, 'x-content-sha256'),
    }
    response.onAborted(() => {
      this.#refuseBody?.(new ServiceError('bad_request', 'the client left'))
      this.#end()
    })
  }

  get ended(): boolean {
    return this.#ended
  }

  get readingBody(): boolean {
    return this.#refuseBody !== null
  }

  /**
   * The whole body, at most `bytesMax` of it. Must be called in the turn in which the exchange was made. Rejects with
   * `too_large` past the bound, and with `error` of `refuseBody`.
   */
  readBody(bytesMax: number, timeMsMax: number): Promise<Uint8Array> {
    const declared = Number(this.headers.contentLength)
    if (declared > bytesMax) return Promise.reject(tooLarge(bytesMax))
    return new Promise((resolve, reject) => {
      const body = new GrowingBody(declared > 0 ? declared : bytesMax)
      const timer = setTimeout(() => {
        stop()
        this.abort()
        reject(new ServiceError('bad_request', 'the body took too long'))
      }, timeMsMax)
      const stop = (): void => {
        clearTimeout(timer)
        this.#refuseBody = null
      }
      this.#refuseBody = (error) => {
        stop()
        reject(error)
      }
      this.#response.onData((chunk, isLast) => {
        this.bytesReceived += chunk.byteLength
        if (this.#refuseBody === null) return
        if (this.bytesReceived > bytesMax) {
          this.#refuseBody(tooLarge(bytesMax))
          return
        }
        body.append(chunk)
        if (!isLast) return
        stop()
        this.#pause()
        resolve(body.bytes())
      })
    })
  }

  /** Gives up a body that is still arriving. */
  refuseBody(error: ServiceError): void {
    this.#refuseBody?.(error)
  }

  /** Sends the answer, unless the client is gone. `close`: and then closes the connection. */
  send(answer: Answer, close: boolean): void {
    if (this.#ended) return
    this.status = answer.status
    const { body } = answer
    this.#response.cork(() => {
      this.#resume()
      this.#response.writeStatus(statusLines[answer.status] ?? String(answer.status))
      for (const [name, value] of Object.entries(answer.headers)) this.#response.writeHeader(name, value)
      if (this.method === 'HEAD') {
        // With arguments, endWithoutBody leaves the connection waiting for the body that it announces.
        this.#response.writeHeader('Content-Length', String(body.length))
        if (close) this.#response.writeHeader('Connection', 'close')
        this.#response.endWithoutBody()
        this.#end()
      } else if (close || body.length <= wholeBodyBytesMax) {
        this.bytesSent = body.length
        this.#response.end(body, close)
        this.#end()
      } else this.#sendInPieces(body)
    })
  }

  /** Cuts the connection. */
  abort(): void {
    if (!this.#ended) this.#response.close()
  }

  #sendInPieces(body: Uint8Array): void {
    const start = this.#response.getWriteOffset()
    const sendFrom = (offset: number): boolean => {
      // The last piece ends the response, and with it the power over its socket.
      this.#resume()
      const [accepted, done] = this.#response.tryEnd(body.subarray(offset - start), body.length)
      if (done) {
        this.bytesSent = body.length
        this.#end()
      } else this.#pause()
      return accepted
    }
    if (!sendFrom(start) && !this.#ended) this.#response.onWritable(sendFrom)
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
    this.#onEnd(this)
  }
}

function headerOrNone(request: HttpRequest, name: string): string | undefined {
  // uWebSockets.js gives '' for a header that is absent; an empty one is present and malformed.
  let value: string | undefined
  request.forEach((key, text) => {
    if (key === name) value = text
  })
  return value
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
