/**
 * The time of each parser and handler grows at most in proportion to its input: a table of what a client or the page may
 * send. Each row is measured with n, 2n and 4n items up to its limit, as processor time of this process, the least of
 * several runs, so that other programs on the machine and the compiler of V8 do not matter. Quadratic work takes 16 times
 * as long for 4n; the limit is 8 times.
 */
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { LeftPostLists, leftQuery } from '../../src/admin/page-data/left-posts.js'
import { picks, picksQuery } from '../../src/admin/page-data/picks.js'
import { Titles } from '../../src/admin/page-data/titles.js'
import type { Observer } from '../../src/admin/observer.js'
import { trackOfResponse } from '../../src/admin/score-tracks.js'
import { silentLog } from '../../src/base/index.js'
import { bodyDifferences } from '../../src/codec/body-differences.js'
import { referenceCodec } from '../../src/codec/codec.js'
import { decodeCycle } from '../../src/codec/index.js'
import { parseOutcomes, parseWeights } from '../../src/codec/parse-records.js'
import { textBatchEncoder } from '../../src/cycle/embeddings/batch-encoder.js'
import { ImageQueue } from '../../src/cycle/embeddings/image-queue.js'
import { Quarantine } from '../../src/cycle/embeddings/quarantine.js'
import { plannedTables } from '../../src/cycle/cycle-record.js'
import { hasZeros, measuringJpeg } from '../../src/images/jpeg-measure.js'
import { repairedJpeg } from '../../src/images/jpeg-repair.js'
import { readHead } from '../../src/images/jpeg-segments.js'
import { ModelError, type TextEncoder, type Vectors } from '../../src/model/index.js'
import { LineReader } from '../../src/model/sessions/messages.js'
import { htmlToText } from '../../src/model/text/html-text.js'
import { openTokenizer } from '../../src/model/text/tokenizer.js'
import { Pool, type CyclePlan } from '../../src/pool/index.js'
import { gunzipBody } from '../../src/server/json-body.js'
import { parseImageKey } from '../../src/server/image-path.js'
import { findRoute } from '../../src/server/router.js'
import type { ServerSources } from '../../src/server/index.js'
import { bytesOf, candidate, cycleBody, cycleMs, reading, removal } from '../helpers/bodies.js'
import { exampleTokenizer, jsonBytes } from '../helpers/encoder-plans.js'
import { segmentOf } from '../harness/jpeg.js'
import { RecordedMemory } from '../helpers/recorded-memory.js'

const stays = new AbortController().signal

const rounds = 5
/** Of the time for 4n items, against four times the time for n. */
const marginMax = 2
/** Processor time that says nothing about growth, such as a garbage collection. */
const noiseMs = 4

type Work = () => unknown
/** Prepares an input of `count` items, and returns the work on it. */
type Prepare = (count: number) => Work | Promise<Work>

/** What may throw: a refusal is work, too. */
function refused(work: Work): Work {
  return () => {
    try {
      return work()
    } catch (error) {
      return error
    }
  }
}

const galleries = (count: number): string[] => Array.from({ length: count }, (_, n) => `gallery ${n}`)
const candidatesIn = (count: number) => galleries(count).map((id) => candidate(id, 1))

/** A pool in which each post has a gallery of its own. */
function poolOf(count: number): Pool {
  const pool = new Pool()
  pool.publish(planOf(pool, cycleBody(0, { candidates: candidatesIn(count) }), 1))
  return pool
}

function planOf(pool: Pool, body: Parameters<typeof bytesOf>[0], position: number): CyclePlan {
  return pool.plan(referenceCodec.decodeCycle(bytesOf(body)), position)
}

/** The largest pool has 70,000 galleries, and so has the largest list 5,000 rows. */
const galleriesPerRow = 14
/** The last galleries of a pool: the most expensive ones for a search from the start. */
const lastGalleries = (count: number): string[] => galleries(galleriesPerRow * count).slice(-count)

/** Ten cycles in which each of `count` posts, in as many galleries, had a score. */
function observerOf(count: number): Observer {
  const results = galleries(count)
    .toReversed()
    .map((gall_id, n) => ({ gall_id, post_no: 1, status: 'scored', score: n }))
  const response = { cycle_id: 'c', cycle_time: '2012-01-01T00:00:00Z', model_version: 'm', results }
  const tracks = Array.from({ length: 10 }, () =>
    trackOfResponse({ ...response, weights_version: 'w' } as never),
  )
  return { tracks: { all: tracks, last: tracks.at(-1) }, saves: { items: [] } } as unknown as Observer
}

/** The picks of the page. */
function picksOf(count: number, query: string): Work {
  const sources = {
    cycles: { pool: poolOf(count).state, images: { positions: () => [] } },
    store: { closed: true },
    clock: () => cycleMs(1),
  } as unknown as ServerSources
  const parts = { sources, observer: observerOf(count), titles: new Titles(sources) }
  return () => picks(parts, picksQuery(new URLSearchParams(query)), stays)
}

/** A service with `count` posts; with `areGone`, they have left. */
async function recordedPosts(count: number, areGone: boolean): Promise<ServerSources> {
  const recorded = await RecordedMemory.open()
  await recorded.submit(cycleBody(0, { candidates: candidatesIn(count) }))
  const removals = galleries(count).map((id) => removal(id, 1, { reason: 'hidden' }))
  if (areGone) await recorded.submit(cycleBody(1, { removals }))
  const { store, service: cycles } = recorded
  return { store, cycles, clock: () => cycleMs(2), log: silentLog } as unknown as ServerSources
}

/** The first search of a page, which reads all titles. */
async function searchOfLeft(count: number): Promise<Work> {
  const sources = await recordedPosts(count, true)
  const query = leftQuery(new URLSearchParams('q=제목'))
  return async () => {
    const { searched } = await new LeftPostLists(sources).find(query, stays)
    expect(searched).toBe(count)
  }
}

async function searchOfPicks(count: number): Promise<Work> {
  const [sources, observer] = [await recordedPosts(count, false), observerOf(count)]
  const query = picksQuery(new URLSearchParams('q=제목'))
  return async () => {
    const { matching } = await picks({ sources, observer, titles: new Titles(sources) }, query, stays)
    expect(matching).toBe(count)
  }
}

/** A JPEG without a picture: `count` comments, and `count` times zeros and a restart as coded data. */
function jpegOf(count: number): Buffer {
  const comments = Buffer.concat(Array<Buffer>(count).fill(segmentOf(0xfe, Buffer.alloc(20))))
  const scan = Buffer.from([0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0])
  const data = Buffer.concat(
    Array<Buffer>(count).fill(Buffer.from([...Array<number>(60).fill(0), 0xff, 0xd0])),
  )
  const frame = segmentOf(0xc0, Uint8Array.of(8, 0, 8, 0, 8, 1, 1, 0x11, 0))
  return Buffer.concat([Buffer.from([0xff, 0xd8]), frame, comments, scan, data, Buffer.from([0xff, 0xd9])])
}

/** Encodes images that have been removed since they were queued. */
async function queueOf(count: number): Promise<void> {
  const store = { closed: false, mayWrite: true, readImageHash: () => undefined }
  const queue = new ImageQueue({} as never, store as never, {} as never, () => undefined, count)
  for (let postNo = 1; postNo <= count; postNo++) queue.add({ gallId: 'g', postNo, position: 1 })
  await queue.settled(() => false)
  expect(queue.count).toBe(0)
}

/** Encodes texts for which the encoder has no time, while another text is suspected of a crash. */
async function lateTexts(texts: readonly Uint8Array[]): Promise<void> {
  const quarantine = new Quarantine()
  const encoder = { ...textBatchEncoder({ hash: 'h', dim: 1 } as TextEncoder), callMsMax: Infinity }
  const crash = (): Promise<never> => Promise.reject(new ModelError('crash'))
  const late = (items: readonly unknown[]): Promise<Vectors> =>
    Promise.resolve({ vectors: new Float32Array(items.length), encoded: new Uint8Array(items.length) })
  const options = { budgetMs: 0, onQuarantined: () => undefined }
  await quarantine
    .encode({ ...encoder, encode: crash }, [Buffer.from('suspect')], options)
    .catch(() => undefined)
  await quarantine.encode({ ...encoder, encode: late }, texts, options)
}

const tokenizer = await openTokenizer(jsonBytes(exampleTokenizer()), {
  tokens_max: 100_000,
  pad_token_id: null,
  golden_tokens: [],
})

const table: readonly [name: string, count: number, prepare: Prepare][] = [
  [
    'problems of a body',
    20_000,
    (n) => {
      const body = bytesOf({ ...cycleBody(0), candidates: Array(n).fill({ title: 1 }) })
      return refused(() => decodeCycle(body))
    },
  ],
  [
    'problems of outcomes with many readings',
    40_000,
    (n) => {
      const readings = Array(n).fill({})
      const body = Buffer.from(JSON.stringify({ outcomes: [{ readings }] }))
      return refused(() => parseOutcomes(body))
    },
  ],
  [
    'unknown members',
    2500,
    (n) => {
      const unknown = Object.fromEntries(galleries(n).map((name) => [name, 1]))
      const body = bytesOf({ ...cycleBody(0), ...unknown })
      // More bytes of them are left to the reference.
      expect(body.length).toBeLessThan(256 * 1024)
      return () => decodeCycle(body)
    },
  ],
  [
    'unknown members that native code leaves to the reference',
    50_000,
    (n) => {
      const unknown = Object.fromEntries(galleries(n).map((name) => [name, 1]))
      const body = bytesOf({ ...cycleBody(0), ...unknown })
      return () => referenceCodec.decodeCycle(body)
    },
  ],
  [
    'image positions',
    200_000,
    (n) => {
      const image_positions = Array.from({ length: n }, (_, i) => n - i)
      const body = bytesOf(cycleBody(0, { candidates: [candidate('g', 1, { image_positions })] }))
      return () => [decodeCycle(body), referenceCodec.decodeCycle(body)]
    },
  ],
  [
    'invalid JSON',
    500_000,
    (n) => {
      const body = Buffer.from(`{"a":[${'"\\n",'.repeat(n)}`)
      return refused(() => referenceCodec.decodeCycle(body))
    },
  ],
  [
    'a version with escapes',
    300_000,
    (n) => {
      const body = Buffer.from(`{"version":"${'\\u0041'.repeat(n)}"}`)
      return refused(() => parseWeights(body))
    },
  ],
  [
    'differences of two bodies',
    // With half as many, the smallest size alone needs no major collection.
    100_000,
    (n) => {
      const body = (views: number) =>
        Buffer.from(JSON.stringify(Array(n).fill({ a: [views], b: { c: views } })))
      const [was, is] = [body(1), body(2)]
      return () => bodyDifferences(was, is)
    },
  ],
  [
    'galleries of a body',
    10_000,
    (n) => {
      const body = bytesOf(cycleBody(0, { candidates: candidatesIn(n) }))
      return () => [decodeCycle(body), referenceCodec.decodeCycle(body)]
    },
  ],
  [
    'a cycle with many galleries',
    10_000,
    (n) => {
      const cycle = referenceCodec.decodeCycle(bytesOf(cycleBody(0, { candidates: candidatesIn(n) })))
      return () => new Pool().plan(cycle, 1)
    },
  ],
  [
    'removals and readings of a pool with many galleries',
    1250,
    (n) => {
      const pool = poolOf(galleriesPerRow * n)
      const ids = lastGalleries(n)
      const removals = ids.map((id) => removal(id, 1, { reason: 'hidden' }))
      const engagement = ids.map((id) => reading(id, 1, cycleMs(1)))
      const cycle = referenceCodec.decodeCycle(bytesOf(cycleBody(1, { removals, engagement })))
      return () => {
        const plan = pool.plan(cycle, 2)
        return plannedTables({ cycle, plan })
      }
    },
  ],
  [
    'HTML of a post',
    40_000,
    (n) => {
      const html = `${'<p a="<'.repeat(n)}${'<p>text &amp; more</p>'.repeat(n)}${'</b>'.repeat(n)}`
      return () => htmlToText(html, html.length)
    },
  ],
  [
    'tokens of a text',
    5_000,
    (n) => {
      const text = '오늘 진짜 ok! 후기 '.repeat(n)
      return () => tokenizer.encode(text)
    },
  ],
  [
    'the path of an image',
    1_000,
    (n) => {
      const path = `/v1/images/${'%EA%B0%80'.repeat(n)}/${'1'.repeat(n)}/${'0'.repeat(n)}`
      return refused(() => {
        const route = findRoute('PUT', path)
        return 'parameters' in route ? parseImageKey(route.parameters, undefined) : route
      })
    },
  ],
  [
    'members of a gzip body',
    50_000,
    (n) => {
      const body = Buffer.concat(Array<Buffer>(n).fill(gzipSync('')))
      return () => gunzipBody(body)
    },
  ],
  [
    'the header of a process',
    62,
    (n) => {
      const chunk = Buffer.alloc(16 * 1024, 'x')
      return () => {
        const reader = new LineReader()
        reader.take(Buffer.from('"'))
        for (let i = 0; i < n; i++) reader.take(chunk)
        return refused(() => reader.take(Buffer.from('"\n')))()
      }
    },
  ],
  ['images that wait to be encoded', 5_000, (n) => () => queueOf(n)],
  [
    'texts that are not encoded in time',
    10_000,
    (n) => {
      const texts = galleries(n).map((text) => Buffer.from(text))
      return () => lateTexts(texts)
    },
  ],
  [
    'segments and coded data of a JPEG',
    2_400,
    (n) => {
      const jpeg = jpegOf(n)
      const copies = () => [repairedJpeg(jpeg, 'scans'), measuringJpeg(jpeg)]
      expect(readHead(jpeg).hasTooManySegments).toBe(false)
      return () => [readHead(jpeg), hasZeros(jpeg), copies()]
    },
  ],
  ['a search in the posts that have left', 1_250, searchOfLeft],
  ['a search in the titles of the picks', 1_250, searchOfPicks],
  ['picks of the page', 125, (n) => picksOf(100 * n, `limit=${n}`)],
  ['a search in the picks', 125, (n) => picksOf(100 * n, `limit=${n}&q=gallery`)],
  [
    'picks of many galleries',
    10_000,
    (n) =>
      picksOf(
        n,
        galleries(n)
          .map((id) => `gallery=${encodeURIComponent(id)}`)
          .join('&'),
      ),
  ],
]

test.each(table)(
  '%s take time in proportion',
  async (_name, count, prepare) => {
    const works: Work[] = []
    for (const factor of [1, 2, 4]) works.push(await prepare(factor * count))
    const leastMs = works.map(() => Infinity)
    // Sizes alternate: a slow moment of the machine meets all of them.
    for (let round = 0; round < rounds; round++) {
      for (const [i, work] of works.entries()) {
        const before = process.cpuUsage()
        await work()
        const { user, system } = process.cpuUsage(before)
        leastMs[i] = Math.min(leastMs[i]!, (user + system) / 1000)
      }
    }
    const [one, two, four] = leastMs as [number, number, number]
    const figures = leastMs.map((ms) => ms.toFixed(1)).join(', ')
    expect(two, figures).toBeLessThanOrEqual(2 * marginMax * one + noiseMs)
    expect(four, figures).toBeLessThanOrEqual(4 * marginMax * one + noiseMs)
  },
  60_000,
)
