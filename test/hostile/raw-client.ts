/**
 * A client with little overhead: prepared bytes on plain sockets that stay open. If client and server share a
 * machine, the CPU time of the client is lost to the server.
 */
import { connect, type Socket } from 'node:net'

export interface Reply {
  /** 0: the connection ended without one. */
  readonly status: number
  readonly tookMs: number
  readonly retryAfterS: number | null
}

/** The bytes of one request, in parts that need not be copied together. */
export type RawRequest = readonly (Uint8Array | string)[]

const headEnd = '\r\n\r\n'

export class RawClient {
  readonly #port: number
  readonly #idle: Connection[] = []
  readonly #all = new Set<Connection>()

  constructor(port: number) {
    this.#port = port
  }

  get connectionCount(): number {
    return this.#all.size
  }

  /** Never rejects. Uses an idle connection, or opens another one. */
  async send(request: RawRequest): Promise<Reply> {
    const connection = this.#idle.pop() ?? this.#open()
    const reply = await connection.send(request)
    // While the rest of a refused body is still being sent, the next request would wait for it.
    if (reply.status !== 0) {
      void connection.flushed().then((usable) => {
        if (usable) this.#idle.push(connection)
      })
    }
    return reply
  }

  destroy(): void {
    for (const connection of this.#all) connection.destroy()
  }

  #open(): Connection {
    const connection = new Connection(connect(this.#port, '127.0.0.1'), () => {
      this.#all.delete(connection)
      const index = this.#idle.indexOf(connection)
      if (index >= 0) this.#idle.splice(index, 1)
    })
    this.#all.add(connection)
    return connection
  }
}

class Connection {
  readonly #socket: Socket
  #head = ''
  /** Bytes of the arriving body that are missing; null before the end of the head. */
  #left: number | null = null
  #status = 0
  #retryAfterS: number | null = null
  #startedAt = 0
  #onReply: ((reply: Reply) => void) | null = null
  #onFlushed: ((usable: boolean) => void) | null = null
  #closed = false

  constructor(socket: Socket, onClose: () => void) {
    this.#socket = socket
    socket.setNoDelay(true)
    socket.on('data', (chunk: Buffer) => this.#receive(chunk))
    socket.on('drain', () => this.#flushed())
    socket.on('error', () => undefined)
    socket.on('close', () => {
      this.#closed = true
      onClose()
      this.#status = 0
      this.#end()
      this.#flushed()
    })
  }

  send(request: RawRequest): Promise<Reply> {
    this.#startedAt = performance.now()
    this.#head = ''
    this.#left = null
    this.#status = 0
    this.#retryAfterS = null
    return new Promise((resolve) => {
      this.#onReply = resolve
      if (this.#closed) {
        this.#end()
        return
      }
      this.#socket.cork()
      for (const part of request) this.#socket.write(part, 'latin1')
      this.#socket.uncork()
    })
  }

  /** Resolves with true when the system has accepted all bytes, with false when the connection has ended. */
  flushed(): Promise<boolean> {
    if (this.#closed || this.#socket.writableLength === 0) return Promise.resolve(!this.#closed)
    return new Promise((resolve) => (this.#onFlushed = resolve))
  }

  destroy(): void {
    this.#socket.destroy()
  }

  #receive(chunk: Buffer): void {
    let bytes = chunk.length
    if (this.#left === null) {
      const before = this.#head.length
      this.#head += chunk.toString('latin1')
      const end = this.#head.indexOf(headEnd)
      if (end < 0) return
      bytes -= end + headEnd.length - before
      this.#status = Number(this.#head.slice(9, 12))
      const retryAfter = /\r\nretry-after: (\d+)/i.exec(this.#head)?.[1]
      this.#retryAfterS = retryAfter === undefined ? null : Number(retryAfter)
      this.#left = Number(/\r\ncontent-length: (\d+)/i.exec(this.#head)?.[1] ?? 0)
    }
    this.#left -= bytes
    if (this.#left <= 0) this.#end()
  }

  #end(): void {
    const onReply = this.#onReply
    this.#onReply = null
    onReply?.({
      status: this.#status,
      tookMs: performance.now() - this.#startedAt,
      retryAfterS: this.#retryAfterS,
    })
  }

  #flushed(): void {
    this.#onFlushed?.(!this.#closed)
    this.#onFlushed = null
  }
}
