/**
 * Frames from streams that are used again: each holds its own body, whatever was compressed before, beside or after it.
 */
import { zstdDecompressSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ZstdFrames } from './zstd-frames.js'

/** Hardly compresses, so that frames meet the end of the buffers that they are cut from. */
const noise = (bytes: number, seed: number): Buffer => {
  const body = Buffer.alloc(bytes)
  let state = seed + 1
  for (let at = 0; at < bytes; at++) {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0
    body[at] = state >>> 16
  }
  return body
}

const bodies = fc.array(
  fc
    .record({ bytes: fc.nat(900_000), seed: fc.nat(99), repeats: fc.integer({ min: 1, max: 3 }) })
    .map(({ bytes, seed, repeats }) => Buffer.concat(Array<Buffer>(repeats).fill(noise(bytes, seed)))),
  { minLength: 1, maxLength: 8 },
)

test('whatever is compressed beside and after it, a frame gives back its body', async () => {
  await fc.assert(
    fc.asyncProperty(bodies, fc.boolean(), async (list, atOnce) => {
      const frames = new ZstdFrames()
      const made: Uint8Array[] = []
      if (atOnce) made.push(...(await Promise.all(list.map((body) => frames.compress(body)))))
      else for (const body of list) made.push(await frames.compress(body))
      made.forEach((frame, i) => {
        const back = zstdDecompressSync(frame)
        if (Buffer.compare(back, list[i] as Buffer) !== 0) throw new Error(`body ${i} is another one`)
      })
    }),
    { numRuns: 25 },
  )
})

test('a body that is overwritten while it is compressed spoils no frame after it', async () => {
  const frames = new ZstdFrames()
  const spoilt = noise(3_000_000, 1)
  const compressing = frames.compress(spoilt)
  spoilt.fill(7)
  await compressing
  const body = noise(200_000, 2)
  expect(Buffer.compare(zstdDecompressSync(await frames.compress(body)), body)).toBe(0)
})
