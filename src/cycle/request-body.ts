/**
 * The request body as the store keeps it: compressed with zstd, or in the gzip in which it arrived; and its hash.
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
import { kibibyte, mebibyte, sha256Of } from '../base/index.js'
import { jsonBodyBytesMax } from '../contract/index.js'
import type { StoredRequest } from '../store/index.js'

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
/** For small bodies. New memory costs as much time as they do, and they are compressed as well in a window of this size. */
const windowBytesLog2 = 17

/** A body after decompression, and the gzip in which it arrived, if any. */
export interface RequestBody {
  readonly json: Uint8Array
  readonly gzip: Uint8Array | null
}

/** A body as the store keeps it, and its hash. */
export interface PackedRequest {
  readonly request: StoredRequest
  readonly sha256: string
}

/** Leave the body unchanged until the promise has settled. `hashing`: the hash of the body. */
export async function packRequest(
  { json, gzip }: RequestBody,
  hashing = hashBody(json),
): Promise<PackedRequest> {
  const bodyBytes = json.length
  if (gzip !== null) return { request: { encoding: 'gzip', bytes: gzip, bodyBytes }, sha256: await hashing }
  const [bytes, sha256] = await Promise.all([
    bodyBytes < threadBytesMin ? compressSmall(json) : compressLarge(json),
    hashing,
  ])
  return { request: { encoding: 'zstd', bytes, bodyBytes }, sha256 }
}

/** A body whose hash is computed once, when it is first needed. */
export class HashedBody {
  readonly json: Uint8Array
  #hashing: Promise<string> | null = null

  constructor(json: Uint8Array) {
    this.json = json
  }

  /** Leave the body unchanged until the promise has settled. */
  sha256(): Promise<string> {
    return (this.#hashing ??= hashBody(this.json))
  }

  /** Resolves when no thread reads the body. */
  async settled(): Promise<void> {
    await this.#hashing?.catch(() => undefined)
  }
}

/**
 * SHA-256 of a body in the form of `StoredCycle.requestSha256`. A large body is hashed in the thread pool: leave it unchanged
 * until the promise has settled.
 */
export async function hashBody(json: Uint8Array): Promise<string> {
  return (await sha256Of(json)).toString('hex')
}

/** An output buffer that holds any result spares zstd a copy of the body. */
function compressSmall(json: Uint8Array): Uint8Array {
  const chunkSize = compressedBytesMax(json.length)
  return zstdCompressSync(json, {
    chunkSize,
    params: { ...level, [constants.ZSTD_c_windowLog]: windowBytesLog2 },
  })
}

function compressLarge(json: Uint8Array): Promise<Uint8Array> {
  return compressZstd(json, { chunkSize: Math.ceil(json.length / compressionRatioMin), params: level })
}

/** `ZSTD_compressBound` of zstd.h, rounded up. */
function compressedBytesMax(bytes: number): number {
  return bytes + Math.ceil(bytes / 256) + 64
}

export async function unpackRequest({ encoding, bytes, bodyBytes }: StoredRequest): Promise<Uint8Array> {
  // One output buffer for the whole body: each further one is another task of the thread pool.
  const chunkSize = Math.min(Math.max(bodyBytes, outputBytesMin), jsonBodyBytesMax)
  const options = { maxOutputLength: jsonBodyBytesMax, chunkSize }
  if (encoding === 'identity') return bytes
  return encoding === 'gzip' ? decompressGzip(bytes, options) : decompressZstd(bytes, options)
}
