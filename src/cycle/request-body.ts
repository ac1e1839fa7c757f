/**
 * The request body as the store keeps it: compressed in the thread pool, or in the gzip that it came in.
 */
import { promisify } from 'node:util'
import { constants, gunzip, zstdCompress, zstdDecompress } from 'node:zlib'
import { jsonBodyBytesMax } from '../contract/index.js'
import type { StoredRequest } from '../store/index.js'

const compressZstd = promisify(zstdCompress)
const decompressZstd = promisify(zstdDecompress)
const decompressGzip = promisify(gunzip)
/**
 * Compression is beside the way of a cycle: speed counts for more than the last tenth of size. What a body repeats, it
 * repeats soon, and tables that fit into a core's first cache are a fifth faster than those of the level.
 */
const parameters = {
  [constants.ZSTD_c_compressionLevel]: 1,
  [constants.ZSTD_c_windowLog]: 17,
  [constants.ZSTD_c_hashLog]: 13,
}
const outputBytesMin = 64 * 1024
/** Bodies shrink to a tenth or less. What is longer comes in pieces. */
const outputShare = 1 / 8

/** A body after decompression, and the gzip it came in, if it did. */
export interface RequestBody {
  readonly json: Uint8Array
  readonly gzip: Uint8Array | null
}

export async function packRequest({ json, gzip }: RequestBody): Promise<StoredRequest> {
  if (gzip !== null) return { encoding: 'gzip', bytes: gzip, bodyBytes: json.length }
  const chunkSize = Math.max(outputBytesMin, Math.ceil(json.length * outputShare))
  const bytes = await compressZstd(json, { chunkSize, params: parameters })
  return { encoding: 'zstd', bytes, bodyBytes: json.length }
}

export async function unpackRequest({ encoding, bytes }: StoredRequest): Promise<Uint8Array> {
  switch (encoding) {
    case 'identity':
      return bytes
    case 'gzip':
      return decompressGzip(bytes, { maxOutputLength: jsonBodyBytesMax })
    case 'zstd':
      return decompressZstd(bytes, { maxOutputLength: jsonBodyBytesMax })
  }
}
