/**
 * JSON bodies: bounded on the wire and after decompression (decisions.md 5). Decompression runs in the thread pool.
 */
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { gzipBodyBytesMax, jsonBodyBytesMax, ServiceError } from '../contract/index.js'
import type { RequestBody } from '../cycle/index.js'
import type { Exchange } from './exchange.js'

const decompress = promisify(gunzip)

export async function readJsonBody(
  exchange: Exchange,
  gzip: boolean,
  timeMsMax: number,
): Promise<RequestBody> {
  const bytes = await exchange.readBody(gzip ? gzipBodyBytesMax : jsonBodyBytesMax, timeMsMax)
  return gzip ? { json: await gunzipBody(bytes), gzip: bytes } : { json: bytes, gzip: null }
}

async function gunzipBody(bytes: Uint8Array): Promise<Uint8Array> {
  try {
    return await decompress(bytes, { maxOutputLength: jsonBodyBytesMax, chunkSize: 256 * 1024 })
  } catch (error) {
    if (error instanceof RangeError && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE') {
      throw new ServiceError('too_large', `the decompressed body is larger than ${jsonBodyBytesMax} bytes`)
    }
    throw new ServiceError('bad_request', 'the body is not valid gzip')
  }
}
