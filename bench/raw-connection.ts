/**
 * The client for timed calls: one call at a time over a keep-alive connection. It allocates only the headers of a request,
 * sends the body without a copy, and reads responses into one buffer. node:http takes up to twice as long for the same
 * bytes, and leaves garbage that is collected during later calls.
 */
import { connect, type Socket } from 'node:net'
import type { Address } from '../test/harness/http.js'

export interface RawCall {
  readonly path: string
  readonly body: Buffer
  readonly headers?: Readonly<Record<string, string>>
}

export interface RawReply {
  readonly status: number
  readonly head: string
  /** A view of the connection's buffer, valid until the next call. */
  readonly body: Buffer
  /** Time from the call to the last byte of its response. */
  readonly tookMs: number
}

/** The response that is being read. */
interface Pending {
  byteCount: number
  /** Null until the headers are complete. */
  head: Head | null
  readonly resolve: (response: Response) => void
  readonly reject: (error: Error) => void
}

type Response = Omit<RawReply, 'tookMs'>

interface Head {
  readonly text: string
  readonly status: number
  readonly bodyAt: number
  readonly endAt: number
}

/** Enough for any response to a cycle: four times the size of 5,000 rows. */
export const responseBytesMax = 4 * 1024 * 1024

const headEnd = '\r\n\r\n'

export class RawConnection {
  readonly #address: Address
  readonly #into: Buffer
  #socket: Socket | null = null
  #pending: Pending | null = null
  #waitedMs = 0
  #cpuMs = 0

  /** Reads responses into `into`, headers included. */
  constructor(address: Address, into: Buffer) {
    this.#address = address
    this.#into = into
  }

  /** Resolves with any status. Rejects if there is no complete response. */
  async post({ path, body, headers }: RawCall): Promise<RawReply> {
    const socket = await this.#connected()
    const head = this.#headOf(path, body.length, headers)
    const cpu = process.cpuUsage()
    const startedAt = performance.now()
    const response = await this.#exchange(socket, head, body)
    const tookMs = performance.now() - startedAt
    const { user, system } = process.cpuUsage(cpu)
    this.#cpuMs += (user + system) / 1000
    this.#waitedMs += tookMs
    return { ...response, tookMs }
  }

  /** CPU utilisation of this process during the calls since the last `takeBusyShare`. */
  takeBusyShare(): number {
    const share = this.#waitedMs === 0 ? 0 : this.#cpuMs / this.#waitedMs
    this.#waitedMs = 0
    this.#cpuMs = 0
    return share
  }

  close(): void {
    this.#socket?.destroy()
  }

  /** Connects if necessary: the server may have closed an idle connection. Not part of the time of a call. */
  #connected(): Promise<Socket> {
    if (this.#socket !== null) return Promise.resolve(this.#socket)
    return new Promise((resolve, reject) => {
      const socket = connect({
        host: '127.0.0.1',
        port: this.#address.port,
        noDelay: true,
        onread: {
          // Called after each chunk, and so after a response for the next one.
          buffer: () => this.#into.subarray(this.#pending?.byteCount),
          callback: (byteCount) => this.#take(byteCount),
        },
      })
      socket.once('connect', () => resolve((this.#socket = socket)))
      socket.once('error', (error) => this.#end(error, reject))
      socket.once('close', () => this.#end(new Error('the server closed the connection'), reject))
    })
  }

  #exchange(socket: Socket, head: string, body: Buffer): Promise<Response> {
    return new Promise((resolve, reject) => {
      this.#pending = { byteCount: 0, head: null, resolve, reject }
      // One system call for both.
      socket.cork()
      socket.write(head, 'latin1')
      socket.write(body)
      socket.uncork()
    })
  }

  #headOf(path: string, bodyBytes: number, headers: Readonly<Record<string, string>> = {}): string {
    const lines = Object.entries({
      host: `127.0.0.1:${this.#address.port}`,
      authorization: this.#address.key,
      'content-type': 'application/json',
      'content-length': String(bodyBytes),
      ...headers,
    }).map(([name, value]) => `${name}: ${value}`)
    return [`POST ${path} HTTP/1.1`, ...lines].join('\r\n') + headEnd
  }

  #take(byteCount: number): boolean {
    try {
      this.#read(byteCount)
      return true
    } catch (error) {
      this.#socket?.destroy(error as Error)
      return false
    }
  }

  #read(byteCount: number): void {
    const pending = this.#pending
    if (pending === null) throw new Error('the server sent bytes without a request')
    pending.byteCount += byteCount
    pending.head ??= readHead(this.#into, pending.byteCount)
    const { head, resolve } = pending
    if (head === null || pending.byteCount < head.endAt) return
    if (pending.byteCount > head.endAt) throw new Error('the server sent more than one response')
    this.#pending = null
    resolve({ status: head.status, head: head.text, body: this.#into.subarray(head.bodyAt, head.endAt) })
  }

  #end(error: Error, rejectConnect: (error: Error) => void): void {
    this.#socket = null
    // At most one of the two is pending.
    rejectConnect(error)
    this.#pending?.reject(error)
    this.#pending = null
  }
}

/** The headers; null while incomplete. Throws if they are invalid, have no length, or exceed the buffer. */
function readHead(bytes: Buffer, byteCount: number): Head | null {
  const end = bytes.subarray(0, byteCount).indexOf(headEnd)
  if (end < 0) {
    if (byteCount === bytes.length)
      throw new Error(`the headers of the response are longer than ${byteCount} bytes`)
    return null
  }
  const text = bytes.toString('latin1', 0, end)
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1]
  if (status === undefined) throw new Error(`not an HTTP/1.1 response: ${text}`)
  const bodyBytes = headerOf(text, 'content-length')
  if (bodyBytes === undefined) throw new Error(`a response without content-length: ${text}`)
  const bodyAt = end + headEnd.length
  const endAt = bodyAt + Number(bodyBytes)
  if (!Number.isSafeInteger(endAt)) throw new Error(`a response with an invalid content-length: ${text}`)
  if (endAt > bytes.length) throw new Error(`a response of ${bodyBytes} bytes, more than the buffer holds`)
  return { text, status: Number(status), bodyAt, endAt }
}

/** The value of a header; undefined if absent. */
export function headerOf(head: string, name: string): string | undefined {
  return new RegExp(`^${name}: *(.*?)\\s*$`, 'im').exec(head)?.[1]
}
