/**
 * The client whose times count: one call at a time over a kept-alive connection. It has nothing made for a call but the
 * head: a body is sent from where it lies, an answer is read to a buffer that is kept. node:http takes up to twice as
 * long for the same bytes, and leaves garbage whose collection falls into later calls.
 */
import { connect, type Socket } from 'node:net'
import type { Address } from './client.js'

export interface WireCall {
  readonly path: string
  readonly body: Buffer
  readonly headers?: Readonly<Record<string, string>>
}

export interface WireReply {
  readonly status: number
  readonly head: string
  /** Valid until the next call: it lies where every answer of the wire is read to. */
  readonly body: Buffer
  /** From the call to the last byte of its answer. */
  readonly tookMs: number
}

/** An answer that is being read. */
interface Pending {
  byteCount: number
  /** Null until the head is whole. */
  head: Head | null
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: Error) => void
}

type Answer = Omit<WireReply, 'tookMs'>

interface Head {
  readonly text: string
  readonly status: number
  readonly bodyAt: number
  readonly endAt: number
}

/** Room for any answer to a cycle: four times what 5,000 rows take. */
export const answerBytesMax = 4 * 1024 * 1024

const headEnd = '\r\n\r\n'

export class Wire {
  readonly #address: Address
  readonly #into: Buffer
  #socket: Socket | null = null
  #pending: Pending | null = null
  #waitedMs = 0
  #cpuMs = 0

  /** Reads answers to `into`, heads included. */
  constructor(address: Address, into: Buffer) {
    this.#address = address
    this.#into = into
  }

  /** Rejects when no whole answer comes; any status is an answer. */
  async post({ path, body, headers }: WireCall): Promise<WireReply> {
    const socket = await this.#connected()
    const head = this.#headOf(path, body.length, headers)
    const cpu = process.cpuUsage()
    const startedAt = performance.now()
    const answer = await this.#exchange(socket, head, body)
    const tookMs = performance.now() - startedAt
    const { user, system } = process.cpuUsage(cpu)
    this.#cpuMs += (user + system) / 1000
    this.#waitedMs += tookMs
    return { ...answer, tookMs }
  }

  /** Part of the time of its calls, since the last question, in which any thread of this process computed. */
  takeBusyShare(): number {
    const share = this.#waitedMs === 0 ? 0 : this.#cpuMs / this.#waitedMs
    this.#waitedMs = 0
    this.#cpuMs = 0
    return share
  }

  close(): void {
    this.#socket?.destroy()
  }

  /** A server may have closed what was idle: that is no part of a call. */
  #connected(): Promise<Socket> {
    if (this.#socket !== null) return Promise.resolve(this.#socket)
    return new Promise((resolve, reject) => {
      const socket = connect({
        host: '127.0.0.1',
        port: this.#address.port,
        noDelay: true,
        onread: {
          // Asked for behind each piece, and so behind an answer for the next one.
          buffer: () => this.#into.subarray(this.#pending?.byteCount),
          callback: (byteCount) => this.#take(byteCount),
        },
      })
      socket.once('connect', () => resolve((this.#socket = socket)))
      socket.once('error', (error) => this.#end(error, reject))
      socket.once('close', () => this.#end(new Error('the server closed the connection'), reject))
    })
  }

  #exchange(socket: Socket, head: string, body: Buffer): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#pending = { byteCount: 0, head: null, resolve, reject }
      // Both leave in one system call.
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
    if (pending === null) throw new Error('the server sent what nobody asked for')
    pending.byteCount += byteCount
    pending.head ??= readHead(this.#into, pending.byteCount)
    const { head, resolve } = pending
    if (head === null || pending.byteCount < head.endAt) return
    if (pending.byteCount > head.endAt) throw new Error('the server sent more than its answer')
    this.#pending = null
    resolve({ status: head.status, head: head.text, body: this.#into.subarray(head.bodyAt, head.endAt) })
  }

  #end(error: Error, rejectConnect: (error: Error) => void): void {
    this.#socket = null
    // Whichever of them waits.
    rejectConnect(error)
    this.#pending?.reject(error)
    this.#pending = null
  }
}

/** Null while it is not whole. Throws for what is no answer, has no length, or no room. */
function readHead(bytes: Buffer, byteCount: number): Head | null {
  const end = bytes.subarray(0, byteCount).indexOf(headEnd)
  if (end < 0) {
    if (byteCount === bytes.length) throw new Error(`the head of an answer is longer than ${byteCount} bytes`)
    return null
  }
  const text = bytes.toString('latin1', 0, end)
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1]
  if (status === undefined) throw new Error(`no answer of HTTP/1.1: ${text}`)
  const bodyBytes = headerOf(text, 'content-length')
  if (bodyBytes === undefined) throw new Error(`an answer without a length: ${text}`)
  const bodyAt = end + headEnd.length
  const endAt = bodyAt + Number(bodyBytes)
  if (!Number.isSafeInteger(endAt)) throw new Error(`an answer whose length is no number: ${text}`)
  if (endAt > bytes.length) throw new Error(`an answer of ${bodyBytes} bytes, more than there is room for`)
  return { text, status: Number(status), bodyAt, endAt }
}

/** Value of a header in a head, undefined where there is none. */
export function headerOf(head: string, name: string): string | undefined {
  return new RegExp(`^${name}: *(.*?)\\s*$`, 'im').exec(head)?.[1]
}
