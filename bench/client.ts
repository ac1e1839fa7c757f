/**
 * A client for any request, over keep-alive connections. Timed cycles use raw-connection.ts.
 */
import http from 'node:http'

export interface Reply {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly body: Buffer
  /** Time from the call to the last byte of its response. */
  readonly tookMs: number
}

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly path: string
  readonly body?: Buffer
  readonly headers?: Readonly<Record<string, string>>
}

/** Port and API key of a server. */
export interface Address {
  readonly port: number
  readonly key: string
}

export class Client {
  readonly address: Address
  readonly #agent: http.Agent

  /** The client queues calls beyond `connectionCount` at a time; that wait is part of `tookMs`. */
  constructor(address: Address, connectionCount = 1) {
    this.address = address
    this.#agent = new http.Agent({ keepAlive: true, maxSockets: connectionCount })
  }

  /** Resolves with any status. Rejects if there is no response. */
  send({ method, path, body, headers }: Call): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const startedAt = performance.now()
      const request = http.request({
        host: '127.0.0.1',
        port: this.address.port,
        agent: this.#agent,
        method,
        path,
        headers: {
          authorization: this.address.key,
          ...(body === undefined
            ? {}
            : { 'content-type': 'application/json', 'content-length': body.length }),
          ...headers,
        },
      })
      request.on('error', reject)
      request.on('response', (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const tookMs = performance.now() - startedAt
          const { statusCode = 0, headers: replyHeaders } = response
          resolve({ status: statusCode, headers: replyHeaders, body: Buffer.concat(chunks), tookMs })
        })
      })
      request.end(body)
    })
  }

  close(): void {
    this.#agent.destroy()
  }
}

/** The body of a response with the expected status. Throws for any other status, with the start of the body. */
export function expectStatus(reply: Pick<Reply, 'status' | 'body'>, status: number, what: string): Buffer {
  if (reply.status === status) return reply.body
  throw new Error(`${what}: ${reply.status} ${reply.body.subarray(0, 400).toString()}`)
}
