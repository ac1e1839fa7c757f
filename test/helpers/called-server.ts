/**
 * A client for a server under test, in this process or in one of its own.
 */
import http from 'node:http'
import { problemOf } from './openapi-responses.js'

export interface Reply {
  status: number
  headers: http.IncomingHttpHeaders
  text: string
  json: unknown
}

export interface Call {
  method?: string
  path: string
  body?: Uint8Array | string
  headers?: Record<string, string>
  /** null: none. Default: the server's key. */
  key?: string | null
}

export abstract class CalledServer {
  readonly key = 'key-for-the-tests-0123456789'
  port = 0

  /** Rejects if the response is not one that docs/openapi.json describes. */
  call({ method = 'GET', path, body, headers: sent = {}, key = this.key }: Call): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const request = http.request(
        {
          host: '127.0.0.1',
          port: this.port,
          method,
          path,
          agent: false,
          headers: {
            ...(key === null ? {} : { Authorization: key }),
            ...(body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) }),
            ...sent,
          },
        },
        (response) => {
          const chunks: Buffer[] = []
          response.on('data', (chunk: Buffer) => chunks.push(chunk))
          response.on('error', reject)
          response.on('end', () => {
            const bytes = Buffer.concat(chunks)
            const text = bytes.toString()
            const { statusCode: status = 0, headers } = response
            const problem = problemOf({ method, path, status, headers, body: bytes })
            if (problem !== null) {
              reject(new Error(`${method} ${path}: ${status} is not as in docs/openapi.json: ${problem}`))
              return
            }
            let json: unknown
            try {
              json = JSON.parse(text)
            } catch {
              json = undefined
            }
            resolve({ status, headers, text, json })
          })
        },
      )
      request.on('error', reject)
      request.end(body)
    })
  }

  postCycle(body: unknown): Promise<Reply> {
    return this.call({ method: 'POST', path: '/v1/cycles', body: JSON.stringify(body) })
  }
}
