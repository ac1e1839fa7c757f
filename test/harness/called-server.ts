/**
 * A server under test, in this process or in one of its own. Its responses are compared with docs/openapi.json.
 */
import { problemOf } from '../helpers/openapi-responses.js'
import { send, type Reply } from './http.js'

export interface ApiCall {
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
  async call({ method = 'GET', path, body, headers = {}, key = this.key }: ApiCall): Promise<Reply> {
    const authorization = key === null ? {} : { Authorization: key }
    const reply = await send(
      { port: this.port, method, path, headers: { ...authorization, ...headers } },
      body,
    )
    const problem = problemOf({
      method,
      path,
      status: reply.status,
      headers: reply.headers,
      body: reply.body,
    })
    if (problem !== null)
      throw new Error(`${method} ${path}: ${reply.status} is not as in docs/openapi.json: ${problem}`)
    return reply
  }

  postCycle(body: unknown): Promise<Reply> {
    return this.call({ method: 'POST', path: '/v1/cycles', body: JSON.stringify(body) })
  }
}
