/**
 * A route of the admin listener, and how it is found. `admin.ts` has the table of all routes.
 */
import type { ServerResponse } from 'node:http'
import { PathTable } from '../base/index.js'
import { decodeSegment, type OutgoingResponse } from '../server/index.js'

export interface Call {
  /** The decoded path segments of the names in braces, in order. */
  readonly parameters: readonly string[]
  readonly query: URLSearchParams
  /** The value of the header; '' if there is none. */
  readonly acceptEncoding: string
  /** Aborted when the connection has closed, or the response has been sent. */
  readonly gone: AbortSignal
}

export type Reply = OutgoingResponse

/** A response that continues after the call: it writes its head and body itself. */
export type Stream = (response: ServerResponse) => void

export interface Route {
  /** A name in braces stands for one path segment, which is not empty. GET and HEAD are the only methods. */
  readonly path: string
  /** `token`: only with the token or its cookie. */
  readonly access: 'open' | 'token'
  /** May throw a `ServiceError`. */
  readonly handle: (call: Call) => Reply | Promise<Reply> | Stream
}

export class Router {
  readonly #routes: PathTable<Route>

  constructor(routes: readonly Route[]) {
    this.#routes = new PathTable(routes.map((route) => [route.path, route] as const))
  }

  /** null: nothing is at this path. `path`: without its query, percent-encoded. */
  find(path: string): { readonly route: Route; readonly parameters: readonly string[] } | null {
    const match = this.#routes.find(path)
    if (match === null || match.parameters.includes('')) return null
    const parameters = match.parameters.map(decodeSegment)
    return parameters.includes(undefined) ? null : { route: match.value, parameters: parameters as string[] }
  }
}

export function json(value: unknown, status = 200, headers: Reply['headers'] = {}): Reply {
  return {
    status,
    headers: { 'Content-Type': 'application/json; charset=utf-8', ...headers },
    body: Buffer.from(`${JSON.stringify(value)}\n`),
  }
}
