/**
 * JSON bodies: bounded on the wire and after decompression (decisions.md 5). Decompression runs in the thread pool.
 */
import { gunzip, type Gunzip } from 'node:zlib'
import { gzipBodyBytesMax, jsonBodyBytesMax, ServiceError } from '../contract/index.js'
import { Semaphore, type RequestBody } from '../cycle/index.js'
import type { Exchange } from './exchange.js'
import type { BodyOptions } from './incoming-body.js'

/**
 * As many as libuv has threads. A body is charged for when its size is known, so this bounds what is not charged yet:
 * a thousand bombs unpacked side by side would be 16 GiB.
 */
const unpacking = new Semaphore(4)

export async function readJsonBody(
  exchange: Exchange,
  gzip: boolean,
  timeMsMax: number,
  options: BodyOptions = {},
): Promise<RequestBody> {
  const bytes = await exchange.body.read(gzip ? gzipBodyBytesMax : jsonBodyBytesMax, timeMsMax, options)
  if (!gzip) return { json: bytes, gzip: null }
  const json = await unpacking.run(() => gunzipBody(bytes))
  const refusal = exchange.body.hold.add(json.length)
  if (refusal !== null) throw refusal
  return { json, gzip: bytes }
}

async function gunzipBody(bytes: Uint8Array): Promise<Uint8Array> {
  const { json, bytesRead } = await decompress(bytes).catch((error: unknown) => {
    if (error instanceof RangeError && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE')
      throw new ServiceError('too_large', `the decompressed body is larger than ${jsonBodyBytesMax} bytes`)
    throw notGzip()
  })
  // zlib stops at a zero behind a member and leaves the rest alone: padding is nothing else than zeros.
  if (!isPadding(bytes.subarray(bytesRead))) throw notGzip()
  return json
}

/** Zeros alone: the first byte is one, and each is like the next. A loop over 17 MiB would take a tenth of a second. */
function isPadding(bytes: Uint8Array): boolean {
  if (bytes.length === 0) return true
  return bytes[0] === 0 && Buffer.compare(bytes.subarray(1), bytes.subarray(0, -1)) === 0
}

function notGzip(): ServiceError {
  return new ServiceError('bad_request', 'the body is not valid gzip')
}

/** `bytesRead`: of `bytes`, up to the end of the last member. */
function decompress(bytes: Uint8Array): Promise<{ json: Uint8Array; bytesRead: number }> {
  return new Promise((resolve, reject) => {
    gunzip(
      bytes,
      { maxOutputLength: jsonBodyBytesMax, chunkSize: 256 * 1024, info: true },
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
