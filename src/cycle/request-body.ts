/**
 * The request body as the store keeps it: compressed beside the event loop, or in the gzip that it came in.
 */
import { promisify } from 'node:util'
import { gunzip, zstdDecompress } from 'node:zlib'
import { jsonBodyBytesMax } from '../contract/index.js'
import type { StoredRequest } from '../store/index.js'
import type { ZstdFrames } from './zstd-frames.js'

const decompressZstd = promisify(zstdDecompress)
const decompressGzip = promisify(gunzip)

/** A body after decompression, and the gzip it came in, if it did. */
export interface RequestBody {
  readonly json: Uint8Array
  readonly gzip: Uint8Array | null
}

export async function packRequest({ json, gzip }: RequestBody, frames: ZstdFrames): Promise<StoredRequest> {
  if (gzip !== null) return { encoding: 'gzip', bytes: gzip, bodyBytes: json.length }
  return { encoding: 'zstd', bytes: await frames.compress(json), bodyBytes: json.length }
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
