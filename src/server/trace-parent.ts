/**
 * The `traceparent` header of W3C Trace Context: the trace and the span in which a client makes a request.
 */

export interface TraceParent {
  /** 32 hex digits. */
  readonly traceId: string
  /** 16 hex digits. */
  readonly spanId: string
  readonly flags: number
}

const pattern = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** null for a value that is not valid: it is ignored, as the recommendation requires. Later versions may add members. */
export function parseTraceParent(value: string): TraceParent | null {
  if (value === '') return null
  const [, version, traceId, spanId, flags, rest] = pattern.exec(value) ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return null
  if (version === '00' && rest !== undefined) return null
  return { traceId, spanId, flags: Number.parseInt(flags, 16) }
}
