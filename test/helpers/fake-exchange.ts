/**
 * A request and its response as uWebSockets.js passes them to a handler, without a socket: a test delivers the body and
 * disconnects the client whenever it wants. Methods follow uWebSockets.js 20: after the end or an abort, each use throws.
 */
import type { HttpRequest, HttpResponse } from 'uWebSockets.js'

export interface FakeCall {
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array
}

export class FakeExchange {
  status = ''
  /** The response's end has been written, or the connection is closed. */
  ended = false
  bytesWritten = 0
  /** How many more pieces of the response the client reads. */
  piecesMax = Infinity
  #onAborted: (() => void) | null = null
  #onData: ((chunk: ArrayBuffer, isLast: boolean) => void) | null = null
  readonly #call: FakeCall

  constructor(call: FakeCall) {
    this.#call = call
  }

  get request(): HttpRequest {
    const { method, path, headers = {}, body } = this.#call
    const all: Record<string, string> = {
      ...headers,
      ...(body === undefined ? {} : { 'content-length': String(body.length) }),
    }
    return {
      getCaseSensitiveMethod: () => method,
      getUrl: () => path,
      getQuery: () => '',
      forEach: (use: (name: string, value: string) => void) =>
        Object.entries(all).forEach(([k, v]) => use(k, v)),
    } as unknown as HttpRequest
  }

  get response(): HttpResponse {
    const use = <Args extends unknown[], Result>(method: (...args: Args) => Result) => {
      return (...args: Args): Result => {
        if (this.ended) throw new Error('the response is used after its end')
        return method(...args)
      }
    }
    return {
      onAborted: use((handler: () => void) => void (this.#onAborted = handler)),
      onData: use((handler: (chunk: ArrayBuffer, isLast: boolean) => void) => void (this.#onData = handler)),
      onWritable: use(() => undefined),
      cork: use((work: () => void) => work()),
      writeStatus: use((status: string) => void (this.status = status)),
      writeHeader: use(() => undefined),
      getWriteOffset: use(() => this.bytesWritten),
      // A client that reads slowly: each attempt sends a part.
      tryEnd: use((piece: ArrayBuffer | Uint8Array, total: number) => {
        const isRead = this.piecesMax-- > 0
        if (isRead) this.bytesWritten = Math.min(total, this.bytesWritten + Math.ceil(piece.byteLength / 2))
        this.ended = this.bytesWritten === total
        return [isRead, this.ended]
      }),
      end: use(() => void (this.ended = true)),
      endWithoutBody: use(() => void (this.ended = true)),
      close: use(() => this.disconnect()),
    } as unknown as HttpResponse
  }

  /** Delivers the part of the body from `from` to `to`. */
  deliver(from: number, to: number): void {
    const { body } = this.#call
    if (body === undefined || this.ended) return
    const chunk = Uint8Array.from(body.subarray(from, to)).buffer
    this.#onData?.(chunk, to === body.length)
  }

  /** The client disconnects, unless the response has ended. */
  disconnect(): void {
    if (this.ended) return
    this.ended = true
    this.#onAborted?.()
  }
}
