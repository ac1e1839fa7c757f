/**
 * A client with keep-alive connections. A call whose connection ends early has no response.
 */
import http from 'node:http'
import type { ServerProcess } from '../helpers/server-process.js'

export interface Reply {
  readonly status: number
  readonly body: Buffer
}

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly path: string
  readonly body?: Uint8Array
}

/** What sends calls. Null: there was no response. */
export type Sender = Pick<Client, 'send'>

export class Client {
  readonly #server: ServerProcess
  readonly #agent = new http.Agent({ keepAlive: true, maxSockets: 8 })

  constructor(server: ServerProcess) {
    this.#server = server
  }

  /** Null when the connection ended before the response was complete. */
  send({ method, path, body }: Call): Promise<Reply | null> {
    const type = path.startsWith('/v1/images/') ? 'image/jpeg' : 'application/json'
    return new Promise((resolve) => {
      const request = http.request(
        {
          host: '127.0.0.1',
          port: this.#server.port,
          method,
          path,
          agent: this.#agent,
          headers: {
            Authorization: this.#server.key,
            ...(body === undefined ? {} : { 'Content-Type': type, 'Content-Length': body.byteLength }),
          },
        },
        (response) => {
          const chunks: Buffer[] = []
          response.on('data', (chunk: Buffer) => chunks.push(chunk))
          response.on('error', () => resolve(null))
          response.on('end', () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks) }))
        },
      )
      request.on('error', () => resolve(null))
      request.end(body)
    })
  }

  close(): void {
    this.#agent.destroy()
  }
}
