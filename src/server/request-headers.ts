/**
 * The request headers that the server uses. uWebSockets.js invalidates a request at the end of its first turn of the event
 * loop, so they are read immediately.
 */
import type { HttpRequest } from 'uWebSockets.js'

/** Repeated header lines of one name are one value, joined by commas (RFC 9110, 5.2). '' if there is none. */
export interface RequestHeaders {
  readonly authorization: string
  readonly contentType: string
  readonly contentEncoding: string
  /** The first line: the one that uWebSockets.js uses. */
  readonly contentLength: string
  readonly transferEncoding: string
  /** uWebSockets.js closes the connection after the response. */
  readonly closesConnection: boolean
  /** `close` is among the options of `Connection` (RFC 9112, 9.6). */
  readonly requestsClose: boolean
  readonly acceptEncoding: string
  readonly traceparent: string
  readonly xTiming: string
  /** An empty value is present and malformed. */
  readonly contentSha256: string | undefined
  /** A proxy may disagree with the server about the end of the request, so no later request of the connection may be served. */
  readonly hasAmbiguousEnd: boolean
}

/** uWebSockets.js recognises `Connection: close` by its length. */
const closeLength = 5

/** One pass over the lines: to look up a name takes as long as to read a line. */
export function readHeaders(request: HttpRequest): RequestHeaders {
  const values = new Map<string, string>()
  let contentLength = ''
  let connection = ''
  request.forEach((name, text) => {
    const before = values.get(name)
    values.set(name, before === undefined ? text : `${before},${text}`)
    if (before !== undefined) return
    if (name === 'content-length') contentLength = text
    else if (name === 'connection') connection = text
  })
  const valueOf = (name: string): string => values.get(name) ?? ''
  const coding = values.get('transfer-encoding')
  return {
    authorization: valueOf('authorization'),
    contentType: valueOf('content-type'),
    contentEncoding: valueOf('content-encoding'),
    contentLength,
    transferEncoding: coding ?? '',
    closesConnection: connection.length === closeLength,
    requestsClose: /(^|,)\s*close\s*(,|$)/i.test(valueOf('connection')),
    acceptEncoding: valueOf('accept-encoding'),
    traceparent: valueOf('traceparent'),
    xTiming: valueOf('x-timing'),
    contentSha256: values.get('x-content-sha256'),
    // uWebSockets.js uses the first length, and reads any non-empty coding as chunked. A proxy in front may not.
    hasAmbiguousEnd:
      valueOf('content-length').includes(',') || (coding !== undefined && !/^chunked$/i.test(coding)),
  }
}
