/**
 * gzip for responses, if the client accepts it. Compression runs in the thread pool.
 */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { OutgoingResponse } from './exchange.js'

const compress = promisify(gzip)

/** A response below this size fits into one packet with or without compression. */
const bytesMin = 1400
/** Most responses are sent once: a higher level costs more time than it saves on the network. */
const level = 1

/** Whether to compress the response for a client with this `Accept-Encoding`. */
export function shouldGzip(response: OutgoingResponse, acceptEncoding: string): boolean {
  return response.body.length >= bytesMin && acceptsCoding(acceptEncoding, 'gzip')
}

export async function gzipResponse(response: OutgoingResponse): Promise<OutgoingResponse> {
  return {
    status: response.status,
    headers: { ...response.headers, 'Content-Encoding': 'gzip', Vary: 'Accept-Encoding' },
    body: await compressOnce(response.body),
  }
}

/** A stored response that stays in memory is compressed once, however many clients read it. */
const compressions = new WeakMap<Uint8Array, Promise<Uint8Array>>()

function compressOnce(body: Uint8Array): Promise<Uint8Array> {
  const known = compressions.get(body)
  if (known !== undefined) return known
  const compressing = compress(body, { level })
  compressions.set(body, compressing)
  compressing.catch(() => compressions.delete(body))
  return compressing
}

/**
 * Whether the client accepts a content coding (RFC 9110, 12.5.3): it is named or covered by `*`, and its weight is not 0.
 * `x-gzip` is gzip (RFC 9110, 8.4.1.3).
 */
export function acceptsCoding(acceptEncoding: string, wanted: 'br' | 'gzip'): boolean {
  const weights = new Map(
    acceptEncoding.split(',').map((item) => {
      const [coding = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase())
      const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2)
      return [coding.replace(/^x-/, ''), weight === undefined ? 1 : Number(weight)] as const
    }),
  )
  return (weights.get(wanted) ?? weights.get('*') ?? 0) > 0
}
