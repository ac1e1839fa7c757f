/**
 * Frames from threads and streams that are used again: each holds its own body, whatever was compressed before, beside or
 * after it, and stands until it is given back.
 */
import { zstdDecompressSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { nativeCodecOrNull } from '../../test/helpers/codecs.js'
import type { StartFrameCompressor } from '../codec/index.js'
import { ZstdFrames } from './zstd-frames.js'

const startNative = nativeCodecOrNull?.startFrameCompressor ?? null

const ways: [string, StartFrameCompressor | null][] = [['streams alone', null]]
if (startNative !== null) ways.push(['native threads', startNative])

/** Hardly compresses, so that frames meet the end of the memory that they are cut from. */
const noise = (bytes: number, seed: number): Buffer => {
  const body = Buffer.alloc(bytes)
  let state = seed + 1
  for (let at = 0; at < bytes; at++) {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0
    body[at] = state >>> 16
  }
  return body
}

/** As long as a full cycle, and as much alike from row to row. */
const rows = (bytes: number): Buffer => {
  const row = (post: number): string =>
    `{"gall_id":"programming","post_no":${post},"views":${post % 997},"up":${post % 89}},`
  let text = ''
  for (let post = 1_000_000; text.length < bytes; post++) text += row(post)
  return Buffer.from(text)
}

/** Each with whether its frame is given back before the next body. */
const bodies = fc.array(
  fc
    .record({
      bytes: fc.oneof(fc.nat(3), fc.nat(5000), fc.nat(900_000)),
      seed: fc.nat(99),
      repeats: fc.integer({ min: 1, max: 3 }),
      returned: fc.boolean(),
    })
    .map(({ bytes, seed, repeats, returned }) => ({
      body: Buffer.concat(Array<Buffer>(repeats).fill(noise(bytes, seed))),
      returned,
    })),
  { minLength: 1, maxLength: 8 },
)

const holds = (frame: Uint8Array, body: Uint8Array): boolean =>
  Buffer.compare(zstdDecompressSync(frame), body) === 0

describe.each(ways)('with %s', (_way, start) => {
  test('whatever is compressed beside and after it, a frame gives back its body', async () => {
    await fc.assert(
      fc.asyncProperty(bodies, fc.boolean(), async (list, atOnce) => {
        const frames = new ZstdFrames(start)
        const made: { frame: Uint8Array; body: Uint8Array }[] = []
        const make = async ({ body, returned }: (typeof list)[number]): Promise<void> => {
          const frame = await frames.compress(body)
          if (!returned) made.push({ frame, body })
          else if (holds(frame, body)) frames.giveBack(frame)
          else throw new Error('a frame that is given back is of another body')
        }
        if (atOnce) await Promise.all(list.map(make))
        else for (const one of list) await make(one)
        for (const { frame, body } of made) if (!holds(frame, body)) throw new Error('of another body')
      }),
      { numRuns: 25 },
    )
  })

  test('a full cycle, and the largest body that no frame shortens, give themselves back', async () => {
    const frames = new ZstdFrames(start)
    for (const body of [rows(6_000_000), noise(16 * 1024 * 1024, 3), rows(6_000_000)]) {
      const frame = await frames.compress(body)
      expect(holds(frame, body)).toBe(true)
      frames.giveBack(frame)
    }
  })

  test('a body that is overwritten while it is compressed spoils no frame after it', async () => {
    const frames = new ZstdFrames(start)
    const spoilt = noise(3_000_000, 1)
    const compressing = frames.compress(spoilt)
    spoilt.fill(7)
    frames.giveBack(await compressing)
    const body = noise(200_000, 2)
    expect(holds(await frames.compress(body), body)).toBe(true)
  })

  test('a frame that is given back twice serves one body at a time', async () => {
    const frames = new ZstdFrames(start)
    const first = await frames.compress(noise(5000, 1))
    frames.giveBack(first)
    frames.giveBack(first)
    const list = [noise(5000, 2), noise(5000, 3)]
    const made = await Promise.all(list.map((body) => frames.compress(body)))
    expect(made.map((frame, i) => holds(frame, list[i] as Buffer))).toEqual([true, true])
  })
})

test('where no thread is to be had the streams serve', async () => {
  let asked = 0
  const frames = new ZstdFrames(() => {
    asked++
    throw new Error('Resource temporarily unavailable')
  })
  const body = rows(10_000)
  expect(holds(await frames.compress(body), body)).toBe(true)
  expect(asked).toBe(1)
})

test('bodies that come while all threads are busy go to the streams', async () => {
  const ends: (() => void)[] = []
  const frames = new ZstdFrames(() => ({
    compress: () => new Promise((resolve) => ends.push(() => resolve(1))),
  }))
  const body = rows(10_000)
  const waiting = [frames.compress(body), frames.compress(body)]
  expect(holds(await frames.compress(body), body)).toBe(true)
  ends.forEach((end) => end())
  expect((await Promise.all(waiting)).map(({ length }) => length)).toEqual([1, 1])
})

test('a compression that fails rejects, and its thread serves the next body', async () => {
  const outcomes = [() => Promise.reject(new Error('told to')), () => Promise.resolve(1)]
  let started = 0
  const frames = new ZstdFrames(() => {
    started++
    return { compress: () => (outcomes.shift() as () => Promise<number>)() }
  })
  await expect(frames.compress(rows(100))).rejects.toThrow('told to')
  expect((await frames.compress(rows(100))).length).toBe(1)
  expect(started).toBe(1)
})
