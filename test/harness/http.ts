/**
 * HTTP as tests and the bench speak it: one call on a connection of its own, calls over connections that stay open, and requests as
 * bytes. Timed cycles use bench/raw-connection.ts.
 */
import http from 'node:http'
import https from 'node:https'
import { connect, type Socket } from 'node:net'

const rawMsMax = 30_000

/** Port and API key of a server. */
export interface Address {
  readonly port: number
  readonly key: string
}

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly path: string
  readonly body?: Uint8Array
  readonly headers?: Readonly<Record<string, string>>
}

export class Reply {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly body: Buffer
  /** Time from the call to the last byte of its response. */
  readonly tookMs: number

  constructor(response: http.IncomingMessage, body: Buffer, tookMs: number) {
    this.status = response.statusCode ?? 0
    this.headers = response.headers
    this.body = body
    this.tookMs = tookMs
  }

  get text(): string {
    return this.body.toString()
  }

  /** Undefined if the body is not JSON. */
  get json(): unknown {
    try {
      return JSON.parse(this.text) as unknown
    } catch {
      return undefined
    }
  }
}

/** Resolves with any status. Rejects if no whole response arrives. Over TLS if `options` has a `ca`. */
export function send(options: https.RequestOptions, body?: Uint8Array | string): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const startedAt = performance.now()
    const length = body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) }
    const headers = { ...length, ...(options.headers as http.OutgoingHttpHeaders | undefined) }
    const { request } = options.ca === undefined ? http : https
    const sent = request({ host: '127.0.0.1', agent: false, ...options, headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const tookMs = performance.now() - startedAt
        resolve(new Reply(response, Buffer.concat(chunks), tookMs))
      })
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

/** Calls over connections that stay open. */
export class Client {
  readonly address: Address
  readonly #agent: http.Agent

  /** The client queues calls beyond `connectionCount` at a time; that wait is part of `tookMs`. */
  constructor(address: Address, connectionCount = 1) {
    this.address = address
    this.#agent = new http.Agent({ keepAlive: true, maxSockets: connectionCount })
  }

  send({ method, path, body, headers }: Call): Promise<Reply> {
    const { port, key } = this.address
    const type = path.startsWith('/v1/images/') ? 'image/jpeg' : 'application/json'
    const sent = { Authorization: key, ...(body === undefined ? {} : { 'Content-Type': type }), ...headers }
    return send({ port, method, path, agent: this.#agent, headers: sent }, body)
  }

  close(): void {
    this.#agent.destroy()
  }
}

/** What sends calls. Null: no whole response arrived. */
export interface Sender {
  readonly send: (call: Call) => Promise<Reply | null>
}

/** A client of a server that may end at any time. */
export class CrashClient implements Sender {
  readonly #client: Client

  constructor(address: Address) {
    this.#client = new Client(address, 8)
  }

  send(call: Call): Promise<Reply | null> {
    return this.#client.send(call).catch(() => null)
  }

  close(): void {
    this.#client.close()
  }
}

/** The body of a response with the expected status. Throws for any other status, with the start of the body. */
export function expectStatus(reply: Pick<Reply, 'status' | 'body'>, status: number, what: string): Buffer {
  if (reply.status === status) return reply.body
  throw new Error(`${what}: ${reply.status} ${reply.body.subarray(0, 400).toString()}`)
}

/** The head of a request with the key of `server`. */
export function head(server: Pick<Address, 'key'>, line: string, ...headers: string[]): string {
  return [`${line} HTTP/1.1`, 'Host: x', `Authorization: ${server.key}`, ...headers, '', ''].join('\r\n')
}

/** The bytes of the first read. */
export function firstBytes(socket: Socket): Promise<string> {
  return new Promise((resolve) => socket.once('data', (data: Buffer) => resolve(data.toString())))
}

/** Opens a connection whose errors are ignored. */
export function open({ port }: Pick<Address, 'port'>): Socket {
  return connect(port, '127.0.0.1').on('error', () => undefined)
}

export interface RawExchange {
  /** Whether nothing more is expected after what has been received. */
  readonly done: (received: string) => boolean
  /**
   * Closes the sending side after this time: a server that waits for more bytes then closes the connection, instead of both
   * waiting for the other.
   */
  readonly halfCloseMs?: number
}

/** Sends bytes on a new connection. Resolves with all bytes received when it ends, when `done`, or after half a minute. */
export function sendRaw(
  server: Pick<Address, 'port'>,
  bytes: Uint8Array | string,
  { done, halfCloseMs }: RawExchange,
): Promise<string> {
  const socket = open(server)
  let received = ''
  return new Promise((resolve) => {
    const end = (): void => {
      for (const timer of timers) clearTimeout(timer)
      socket.destroy()
      resolve(received)
    }
    const timers = [setTimeout(end, rawMsMax)]
    if (halfCloseMs !== undefined) timers.push(setTimeout(() => socket.end(), halfCloseMs))
    socket.setEncoding('latin1')
    socket.on('data', (text: string) => {
      received += text
      if (done(received)) end()
    })
    socket.on('close', end)
    socket.write(bytes)
  })
}

/** Status codes of the responses in the bytes that a connection has received. */
export function statuses(received: string): number[] {
  return [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]))
}

/** For `done` of `sendRaw`: one complete response of the service, or one of uWebSockets.js itself before it closes. */
export function isCompleteResponse(received: string): boolean {
  const headEnd = received.indexOf('\r\n\r\n')
  if (headEnd < 0) return false
  const length = /\r\ncontent-length: (\d+)/i.exec(received.slice(0, headEnd))?.[1]
  return length !== undefined && received.length >= headEnd + 4 + Number(length)
}
