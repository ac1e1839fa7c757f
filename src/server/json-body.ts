/**
 * JSON bodies, limited after decompression, too (docs/contract.md). Decompression runs in the thread pool.
 */
import { gunzip, type Gunzip } from 'node:zlib'
import { kibibyte, Semaphore } from '../base/index.js'
import { jsonBodyBytesMax, ServiceError } from '../contract/index.js'
import type { Exchange } from './exchange.js'

/**
 * One per thread of libuv's pool. The decompressed bytes are counted when their number is known, so this limits the bytes
 * that are not counted yet: a thousand gzip bombs decompressed at the same time would take 16 GiB.
 */
const decompressionSemaphore = new Semaphore(4)

/** A body after decompression, and the gzip in which it arrived, if any. */
export interface JsonBody {
  readonly json: Uint8Array
  readonly gzip: Uint8Array | null
}

/** The body that has arrived, decompressed. */
export async function decodeBody(
  exchange: Exchange,
  isGzip: boolean,
  arrived: Uint8Array,
): Promise<JsonBody> {
  if (!isGzip) return { json: arrived, gzip: null }
  const json = await decompressionSemaphore.run(() => gunzipBody(arrived), exchange.signal)
  exchange.body.addDecompressed(json.length)
  return { json, gzip: arrived }
}

/** The decompressed body. Rejects with `too_large`, or with `bad_request` if it is not valid gzip. */
export async function gunzipBody(bytes: Uint8Array): Promise<Uint8Array> {
  const { json, bytesRead } = await decompress(bytes).catch((error: unknown) => {
    if (error instanceof RangeError && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE')
      throw new ServiceError({ code: 'large_decompressed_body', bytes_max: jsonBodyBytesMax })
    throw notGzip()
  })
  // zlib stops at a zero byte after a gzip member and ignores the rest: only padding of zeros is valid there.
  if (!isPadding(bytes.subarray(bytesRead))) throw notGzip()
  return json
}

/** All bytes are zero: the first is, and each equals the next. A loop over 17 MiB would take a tenth of a second. */
function isPadding(bytes: Uint8Array): boolean {
  if (bytes.length === 0) return true
  return bytes[0] === 0 && Buffer.compare(bytes.subarray(1), bytes.subarray(0, -1)) === 0
}

function notGzip(): ServiceError {
  return new ServiceError({ code: 'not_gzip' })
}

/** `bytesRead`: the number of input bytes up to the end of the last gzip member. */
function decompress(bytes: Uint8Array): Promise<{ json: Uint8Array; bytesRead: number }> {
  return new Promise((resolve, reject) => {
    gunzip(
      bytes,
      { maxOutputLength: jsonBodyBytesMax, chunkSize: 256 * kibibyte, info: true },
      (error, result: unknown) => {
        if (error !== null) {
          reject(error)
          return
        }
        const { buffer, engine } = result as { buffer: Buffer; engine: Gunzip }
        resolve({ json: buffer, bytesRead: engine.bytesWritten })
      },
    )
  })
}
