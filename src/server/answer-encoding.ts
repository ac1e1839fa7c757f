/**
 * gzip for answers, where the client takes it. Runs in the thread pool; small answers are not worth it.
 */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Answer } from './exchange.js'

const compress = promisify(gzip)

/** Less than a packet stays one packet either way. */
const bytesMin = 1400
/** Answers are sent once each: more effort than this costs more time than it saves on a network. */
const level = 1

/** Whether the answer is to be compressed for a client with this `Accept-Encoding`. */
export function isForGzip(answer: Answer, acceptEncoding: string): boolean {
  return answer.body.length >= bytesMin && acceptsGzip(acceptEncoding)
}

/** The same answer, compressed. */
export async function gzipAnswer(answer: Answer): Promise<Answer> {
  const body = await compress(answer.body, { level })
  return {
    ...answer,
    headers: { ...answer.headers, 'Content-Encoding': 'gzip', Vary: 'Accept-Encoding' },
    body,
  }
}

/** Whether gzip may be sent (RFC 9110, 12.5.3): named, or covered by `*`, and not with weight 0. */
export function acceptsGzip(acceptEncoding: string): boolean {
  const weights = new Map(
    acceptEncoding.split(',').map((item) => {
      const [coding = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase())
      const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2)
      return [coding, weight === undefined ? 1 : Number(weight)] as const
    }),
  )
  return (weights.get('gzip') ?? weights.get('x-gzip') ?? weights.get('*') ?? 0) > 0
}
