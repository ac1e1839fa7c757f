/**
 * Sends thousands of mutated JPEGs: each is accepted or refused as in the contract, and the server is as before.
 */
import { imageBytesMax } from '../../src/contract/limits.js'
import { Random } from '../harness/rng.js'
import { mutatedImage } from './mutated-images.js'
import { validImages } from './images.js'
import type { ServerProcess } from '../harness/server.js'

const allowed = new Set([200, 201, 400, 413, 415])
/** Requests at a time. */
const concurrency = 6

export interface ImageFuzzFigures {
  readonly violations: readonly string[]
  readonly tried: number
  /** Number of responses by status; 0: the connection was closed without one. */
  readonly statuses: ReadonlyMap<number, number>
  readonly slowestMs: number
}

/** `firstSeed`: of the first image; the others follow. A violation names the seed of its image. */
export async function fuzzImages(
  server: ServerProcess,
  count: number,
  firstSeed: number,
): Promise<ImageFuzzFigures> {
  const jpegs = await validImages()
  const violations: string[] = []
  const statuses = new Map<number, number>()
  let slowestMs = 0
  let next = firstSeed
  const end = firstSeed + count
  const worker = async (): Promise<void> => {
    while (next < end) {
      const seed = next++
      const { mutation, bytes } = mutatedImage(new Random(seed), jpegs)
      const startedAt = performance.now()
      const reply = await server
        .call({
          method: 'PUT',
          path: `/v1/images/mutated/${seed}/01`,
          body: bytes,
          headers: { 'Content-Type': 'image/jpeg' },
        })
        .catch((error: unknown) => ({ status: 0, headers: {}, text: String(error) }))
      slowestMs = Math.max(slowestMs, performance.now() - startedAt)
      statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1)
      const busy = reply.status === 503 && 'retry-after' in reply.headers
      // Refused by its length, and the client lost the response because it was still sending.
      const cut = reply.status === 0 && bytes.length > imageBytesMax
      if (!allowed.has(reply.status) && !busy && !cut)
        violations.push(`image ${seed} (${mutation}): ${reply.status} ${reply.text.slice(0, 80)}`)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
  return { violations, tried: count, statuses, slowestMs }
}
