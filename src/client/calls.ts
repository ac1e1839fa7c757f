/**
 * Calls as they are sent: method, path, headers and bytes, and what is received. All attempts of a call send the same bytes.
 */
import { operations, pathOf, type OperationId } from '../contract/operations.js'

export interface Call {
  readonly id: OperationId
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT'
  /** Below the base address, percent-encoded. */
  readonly path: string
  /** The API key is omitted. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array | null
}

export interface Reply {
  readonly status: number
  readonly headers: Headers
  /** Decompressed. */
  readonly body: Uint8Array
  /** Duration of the attempt. */
  readonly ms: number
  /** Attempts before this one. The service may have processed any of them. */
  readonly retryCount: number
}

/** Where an image belongs: `position` is its one-based position in the original body. */
export interface ImageKey {
  readonly gall_id: string
  readonly post_no: number
  readonly position: number
}

type JsonOperationId = 'postCycle' | 'postOutcomes' | 'putWeights'

/** A smaller body is not compressed: it would save one packet. */
const gzipBytesMin = 1400

/** A call with a JSON text as its body, compressed if `gzip` is true and the text is large enough. */
export async function jsonCall(id: JsonOperationId, json: string, gzip: boolean): Promise<Call> {
  const { method } = operations[id]
  const path = pathOf(id, {})
  const bytes = new TextEncoder().encode(json)
  const type = { 'Content-Type': 'application/json' }
  if (!gzip || bytes.length < gzipBytesMin) return { id, method, path, headers: type, body: bytes }
  const compressed = new Blob([bytes]).stream().pipeThrough(new CompressionStream('gzip'))
  const body = new Uint8Array(await new Response(compressed).arrayBuffer())
  return { id, method, path, headers: { ...type, 'Content-Encoding': 'gzip' }, body }
}

/** The upload of an image with its SHA-256. A browser computes hashes on secure pages only, Node from version 20 on; elsewhere it is omitted. */
export async function imageCall(key: ImageKey, jpeg: Uint8Array): Promise<Call> {
  const { gall_id, post_no, position } = key
  // A copy: the bytes must not change between two attempts.
  const body = new Uint8Array(jpeg)
  const { subtle } = (globalThis.crypto as Partial<typeof crypto> | undefined) ?? {}
  const hash = subtle === undefined ? null : hexOf(new Uint8Array(await subtle.digest('SHA-256', body)))
  return {
    id: 'putImage',
    method: operations.putImage.method,
    path: pathOf('putImage', { gall_id, post_no, NN: String(position).padStart(2, '0') }),
    headers: { 'Content-Type': 'image/jpeg', ...(hash === null ? {} : { 'X-Content-SHA256': hash }) },
    body,
  }
}

export function scoresCall(cycle_id: string, method: 'GET' | 'HEAD'): Call {
  return { id: 'getScores', method, path: pathOf('getScores', { cycle_id }), headers: {}, body: null }
}

/** A call of an operation without parameters and body. */
export function plainCall(id: 'getHealth' | 'getWeights'): Call {
  return { id, method: operations[id].method, path: pathOf(id, {}), headers: {}, body: null }
}

function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
