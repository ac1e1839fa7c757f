/**
 * The request body as the store keeps it: compressed with zstd in the thread pool, or in the gzip in which it arrived.
 */
import { promisify } from 'node:util'
import { constants, gunzip, zstdCompress, zstdDecompress, type ZstdOptions } from 'node:zlib'
import { jsonBodyBytesMax } from '../contract/index.js'
import type { StoredRequest } from '../store/index.js'

const compressZstd = promisify(zstdCompress) as (
  bytes: Uint8Array,
  options: ZstdOptions,
) => Promise<Uint8Array>
const decompressZstd = promisify(zstdDecompress)
const decompressGzip = promisify(gunzip)

const compressionParams: ZstdOptions['params'] = { [constants.ZSTD_c_compressionLevel]: 1 }
/** Bodies of cycles compress to less than a sixth, so that each takes one output buffer. */
const compressionRatioMin = 6
const outputBytesMin = 64 * 1024

/** A body after decompression, and the gzip in which it arrived, if any. */
export interface RequestBody {
  readonly json: Uint8Array
  readonly gzip: Uint8Array | null
}

/** Leave the body unchanged until the promise has settled. */
export async function packRequest({ json, gzip }: RequestBody): Promise<StoredRequest> {
  if (gzip !== null) return { encoding: 'gzip', bytes: gzip, bodyBytes: json.length }
  const chunkSize = Math.max(outputBytesMin, Math.ceil(json.length / compressionRatioMin))
  const bytes = await compressZstd(json, { chunkSize, params: compressionParams })
  return { encoding: 'zstd', bytes, bodyBytes: json.length }
}

export async function unpackRequest({ encoding, bytes, bodyBytes }: StoredRequest): Promise<Uint8Array> {
  // One output buffer for the whole body: each further one is another task of the thread pool.
  const chunkSize = Math.min(Math.max(bodyBytes, outputBytesMin), jsonBodyBytesMax)
  const options = { maxOutputLength: jsonBodyBytesMax, chunkSize }
  if (encoding === 'identity') return bytes
  return encoding === 'gzip' ? decompressGzip(bytes, options) : decompressZstd(bytes, options)
}
