/**
 * A client for a server under test, in this process or in one of its own.
 */
import type http from 'node:http'
import { send } from '../harness/http.js'
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
  async call({ method = 'GET', path, body, headers: sent = {}, key = this.key }: Call): Promise<Reply> {
    const authorization = key === null ? {} : { Authorization: key }
    const options = { port: this.port, method, path, headers: { ...authorization, ...sent } }
    const { status, headers, body: bytes } = await send(options, body)
    const problem = problemOf({ method, path, status, headers, body: bytes })
    if (problem !== null)
      throw new Error(`${method} ${path}: ${status} is not as in docs/openapi.json: ${problem}`)
    const text = bytes.toString()
    let json: unknown
    try {
      json = JSON.parse(text)
    } catch {
      json = undefined
    }
    return { status, headers, text, json }
  }

  postCycle(body: unknown): Promise<Reply> {
    return this.call({ method: 'POST', path: '/v1/cycles', body: JSON.stringify(body) })
  }
}
