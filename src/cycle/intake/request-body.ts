/**
 * The body of a request: the cycle id that it shows before it is decoded, and its form in the store, compressed with zstd or
 * in the gzip in which it arrived, with its hash.
 */
import { promisify } from 'node:util'
import {
  constants,
  gunzip,
  zstdCompress,
  zstdCompressSync,
  zstdDecompress,
  type ZstdOptions,
} from 'node:zlib'
import { kibibyte, mebibyte, sha256Of } from '../../base/index.js'
import { jsonBodyBytesMax } from '../../contract/index.js'
import type { StoredRequest } from '../../store/index.js'

const compressZstd = promisify(zstdCompress) as (
  bytes: Uint8Array,
  options: ZstdOptions,
) => Promise<Uint8Array>
const decompressZstd = promisify(zstdDecompress)
const decompressGzip = promisify(gunzip)

const level: ZstdOptions['params'] = { [constants.ZSTD_c_compressionLevel]: 1 }
/** Bodies of cycles compress to less than a sixth, so that each takes one output buffer. */
const compressionRatioMin = 6
const outputBytesMin = 64 * kibibyte
/**
 * A body below this size is compressed in about the time that a thread of the pool may wait for a processor, without one.
 * Larger bodies would keep the event loop from other requests.
 */
export const threadBytesMin = mebibyte
/** Suits small bodies. New memory costs as much time as they do, and they are compressed as well in a window of this size. */
const windowBytesLog2 = 17
/** A hash table of this size stays in the first cache of the processor. In such a window, a larger one finds no more. */
const hashTableLog2 = 12

/** A body after decompression, and the gzip in which it arrived, if any. */
export class RequestBody {
  readonly json: Uint8Array
  readonly gzip: Uint8Array | null
  #peekedId: string | null | undefined

  constructor(json: Uint8Array, gzip: Uint8Array | null = null) {
    this.json = json
    this.gzip = gzip
  }

  /** The cycle id that the body shows before it is decoded: a hint. */
  get peekedId(): string | null {
    if (this.#peekedId === undefined) this.#peekedId = peekCycleId(this.json)
    return this.#peekedId
  }
}

const idName = '"cycle_id"'
const idMemberBytesMax = 64
const idMember = /^"cycle_id"\s*:\s*"(\d{8}T\d{4})"/

/**
 * The cycle id of a body that is not decoded, wherever it is; null when none is found. It is only a hint: the decoded id
 * determines which cycle a body is. `json`: a body or its first bytes. Quotes in a string are escaped, so the name is found
 * as a name or as a whole string.
 */
export function peekCycleId(json: Uint8Array): string | null {
  const bytes = Buffer.from(json.buffer, json.byteOffset, json.length)
  const start = bytes.indexOf(idName)
  if (start < 0) return null
  return idMember.exec(bytes.toString('latin1', start, start + idMemberBytesMax))?.[1] ?? null
}

export interface PackedRequest extends StoredRequest {
  readonly sha256: string
}

/** Leave the body unchanged until the promise has settled. */
export async function packRequest(body: Pick<RequestBody, 'json' | 'gzip'>): Promise<PackedRequest> {
  const request = await compress(body)
  return { ...request, sha256: await requestHash(request) }
}

/** `CycleHashes.requestSha256`. Compressed, a body is hashed in a sixth of the time. */
export async function requestHash({ bytes }: Pick<StoredRequest, 'bytes'>): Promise<string> {
  return (await sha256Of(bytes)).toString('hex')
}

async function compress({ json, gzip }: Pick<RequestBody, 'json' | 'gzip'>): Promise<StoredRequest> {
  const bodyBytes = json.length
  if (gzip !== null) return { encoding: 'gzip', bytes: gzip, bodyBytes }
  const bytes = bodyBytes < threadBytesMin ? compressSmall(json) : await compressLarge(json)
  return { encoding: 'zstd', bytes, bodyBytes }
}

/** An output buffer that holds any result spares zstd a copy of the body. */
function compressSmall(json: Uint8Array): Uint8Array {
  const chunkSize = compressedBytesMax(json.length)
  return zstdCompressSync(json, {
    chunkSize,
    params: {
      ...level,
      [constants.ZSTD_c_windowLog]: windowBytesLog2,
      [constants.ZSTD_c_hashLog]: hashTableLog2,
    },
  })
}

function compressLarge(json: Uint8Array): Promise<Uint8Array> {
  return compressZstd(json, { chunkSize: Math.ceil(json.length / compressionRatioMin), params: level })
}

/** `ZSTD_compressBound` of zstd.h, rounded up. */
function compressedBytesMax(bytes: number): number {
  return bytes + Math.ceil(bytes / 256) + 64
}

export async function unpackRequest({ encoding, bytes, bodyBytes }: StoredRequest): Promise<Buffer> {
  // One output buffer for the whole body: each further one is another task of the thread pool.
  const chunkSize = Math.min(Math.max(bodyBytes, outputBytesMin), jsonBodyBytesMax)
  const options = { maxOutputLength: jsonBodyBytesMax, chunkSize }
  if (encoding === 'identity') return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  return encoding === 'gzip' ? decompressGzip(bytes, options) : decompressZstd(bytes, options)
}
