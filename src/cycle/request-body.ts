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
/** Compression is on the way of a cycle, beside the model: speed counts for more than the last tenth of size. */
const level = 1

/** A body after decompression, and the gzip it came in, if it did. */
export interface RequestBody {
  readonly json: Uint8Array
  readonly gzip: Uint8Array | null
}

export async function packRequest({ json, gzip }: RequestBody): Promise<StoredRequest> {
  if (gzip !== null) return { encoding: 'gzip', bytes: gzip, bodyBytes: json.length }
  const bytes = await compressZstd(json, {
    chunkSize: 256 * 1024, // The default of 16 KiB would come back to the event loop for each.
    params: { [constants.ZSTD_c_compressionLevel]: level },
  })
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
