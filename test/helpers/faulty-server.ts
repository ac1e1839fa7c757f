/**
 * A server on a real socket whose responses, and failures, a test writes out one by one: it responds to request n with step n,
 * and records what it received.
 */
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { afterEach } from 'vitest'

export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: http.IncomingHttpHeaders
  /** As sent: possibly compressed. */
  readonly body: Buffer
}

/**
 * before: the connection ends before the body is read. within: after half of the body. after: after the whole body, without
 * a response. half: within the response. silent: no response. stalled: half of the response, and nothing more.
 */
export type Step =
  | 'before'
  | 'within'
  | 'after'
  | 'half'
  | 'silent'
  | 'stalled'
  | { status?: number; headers?: Record<string, string>; body?: unknown }

const servers: http.Server[] = []

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close()
    server.closeAllConnections()
  }
})

export class FaultyServer {
  /** Requests whose body arrived completely. */
  readonly received: Received[] = []
  attemptCount = 0
  readonly #steps: readonly Step[]
  readonly #server: http.Server

  /** The last step is repeated. */
  constructor(...steps: readonly Step[]) {
    this.#steps = steps
    this.#server = http.createServer((request, response) => {
      this.#serve(request, response).catch(() => request.socket.destroy())
    })
  }

  /** Returns the base address. */
  async listen(port = 0): Promise<string> {
    servers.push(this.#server)
    this.#server.listen(port, '127.0.0.1')
    await once(this.#server, 'listening')
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async #serve(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const step = this.#steps[Math.min(this.attemptCount++, this.#steps.length - 1)] ?? 'after'
    if (step === 'before') {
      request.socket.resetAndDestroy()
      return
    }
    if (step === 'within') {
      let bytes = 0
      request.on('error', () => {})
      request.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes >= Number(request.headers['content-length']) / 2) request.socket.resetAndDestroy()
      })
      return
    }
    const { method = '', url: path = '', headers } = request
    this.received.push({ method, path, headers, body: await buffer(request) })
    if (step === 'after') request.socket.resetAndDestroy()
    else if (step === 'half' || step === 'stalled') {
      response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': 100 })
      response.write('{"half":', () => {
        if (step === 'half') request.socket.resetAndDestroy()
      })
    } else if (step !== 'silent') {
      const { status = 200, headers: own = {}, body = {} } = step
      response.writeHead(status, { 'Content-Type': 'application/json', ...own })
      response.end(typeof body === 'string' ? body : JSON.stringify(body))
    }
  }
}
