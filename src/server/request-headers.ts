/**
 * The request headers that the server uses, and what they mean: media type and content encoding (docs/contract.md), and the
 * trace. uWebSockets.js invalidates a request at the end of its first turn of the event loop, so they are read immediately.
 */
import type { HttpRequest } from 'uWebSockets.js'
import { ServiceError } from '../contract/index.js'

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

/** Any charset is accepted: JSON is UTF-8. Parameters may be empty (RFC 9110, 5.6.6). */
const jsonType = /^\s*application\/json\s*(;\s*(charset\s*=\s*("[^"]*"|[^\s;",]+)\s*)?)*$/i

/** Allows any parameters. A comma would start another type. */
const jpegType = /^\s*image\/jpeg\s*(;("[^"]*"|[^",])*)?$/i

/** Checks the headers of a JSON body. Returns true for gzip. */
export function checkJsonHeaders(contentType: string, contentEncoding: string): boolean {
  if (contentType !== '' && !jsonType.test(contentType)) {
    throw new ServiceError({ code: 'json_type_expected' })
  }
  const encoding = contentEncoding.trim().toLowerCase()
  if (encoding !== '' && encoding !== 'identity' && encoding !== 'gzip') {
    throw new ServiceError({ code: 'unknown_encoding' })
  }
  return encoding === 'gzip'
}

export function checkImageHeaders(contentType: string, contentEncoding: string): void {
  if (!jpegType.test(contentType)) {
    throw new ServiceError({ code: 'jpeg_type_expected' })
  }
  if (contentEncoding !== '') {
    throw new ServiceError({ code: 'encoded_image' })
  }
}

/** The `traceparent` header of W3C Trace Context: the trace and the span in which a client makes a request. */
export interface TraceParent {
  /** 32 hex digits. */
  readonly traceId: string
  /** 16 hex digits. */
  readonly spanId: string
  readonly flags: number
}

const traceParent =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** null for a value that is not valid: it is ignored, as the recommendation requires. Later versions may add members. */
export function parseTraceParent(value: string): TraceParent | null {
  if (value === '') return null
  const [, version, traceId, spanId, flags, rest] = traceParent.exec(value) ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return null
  if (version === '00' && rest !== undefined) return null
  return { traceId, spanId, flags: Number.parseInt(flags, 16) }
}
