/**
 * Sends thousands of mutated JPEGs: each is accepted or refused as in the contract, and the server is as before.
 */
import { imageBytesMax } from '../../src/contract/limits.js'
import { Random } from '../fuzz/random.js'
import { bentPicture } from './bent-pictures.js'
import { honestPictures } from './pictures.js'
import type { Target } from './target.js'

const allowed = new Set([200, 201, 400, 413, 415])
/** Side by side. */
const lanes = 6

export interface PictureFigures {
  readonly breaches: readonly string[]
  readonly tried: number
  /** How often each status was given; 0: the connection was cut. */
  readonly statuses: ReadonlyMap<number, number>
  readonly slowestMs: number
}

/** `firstSeed`: of the first picture; the others follow. A breach names the seed of its picture. */
export async function fuzzPictures(
  target: Target,
  count: number,
  firstSeed: number,
): Promise<PictureFigures> {
  const pictures = await honestPictures()
  const breaches: string[] = []
  const statuses = new Map<number, number>()
  let slowestMs = 0
  let next = firstSeed
  const end = firstSeed + count
  const lane = async (): Promise<void> => {
    while (next < end) {
      const seed = next++
      const { bend, bytes } = bentPicture(new Random(seed), pictures)
      const startedAt = performance.now()
      const reply = await target.server
        .call({
          method: 'PUT',
          path: `/v1/images/bent/${seed}/01`,
          body: bytes,
          headers: { 'Content-Type': 'image/jpeg' },
        })
        .catch((error: unknown) => ({ status: 0, headers: {}, text: String(error) }))
      slowestMs = Math.max(slowestMs, performance.now() - startedAt)
      statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1)
      const busy = reply.status === 503 && 'retry-after' in reply.headers
      // Refused by its length, with the answer lost: the server does not wait for the rest, and the client writes on.
      const cut = reply.status === 0 && bytes.length > imageBytesMax
      if (!allowed.has(reply.status) && !busy && !cut)
        breaches.push(`picture ${seed} (${bend}): ${reply.status} ${reply.text.slice(0, 80)}`)
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  return { breaches, tried: count, statuses, slowestMs }
}
