/** Bodies read in a thread: what would have been said on the event loop, and an end to every wait. */
import { isDeepStrictEqual } from 'node:util'
import { Worker } from 'node:worker_threads'
import { describe, expect, test } from 'vitest'
import { bytesOf, candidate, cycleBody } from '../../test/helpers/bodies.js'
import { nativeCodecOrNull } from '../../test/helpers/codecs.js'
import { mutatedBody } from '../../test/fuzz/cycle-bodies.js'
import { Random } from '../../test/fuzz/random.js'
import { jsonBodyBytesMax, ServiceError } from '../contract/index.js'
import { BodyReader, promptBytesMax, readBody, startReading, type StartReading } from './reading-thread.js'
import { readers, type BodyKind } from './reading.js'

/** The same JSON, too large to be read at once. */
function large(body: Uint8Array, bytes = promptBytesMax): Buffer {
  return Buffer.concat([Buffer.alloc(bytes, ' '), body])
}

function onTheLoop(kind: BodyKind, body: Uint8Array): unknown {
  try {
    return readers[kind](body)
  } catch (error) {
    return wordsOf(error)
  }
}

async function inAThread(kind: BodyKind, body: Uint8Array): Promise<unknown> {
  return readBody(kind, body).catch(wordsOf)
}

function wordsOf(error: unknown): unknown {
  if (!(error instanceof ServiceError)) throw error
  return error.toRecord()
}

async function expectSame(kind: BodyKind, body: Uint8Array): Promise<void> {
  const spaced = large(body)
  const [there, here] = [await inAThread(kind, spaced), onTheLoop(kind, spaced)]
  if (!isDeepStrictEqual(there, here)) expect(there, body.toString()).toEqual(here)
}

const never: StartReading = () => {
  throw new Error('no thread was to start')
}

const evaluated =
  (code: string): StartReading =>
  () =>
    new Worker(code, { eval: true, execArgv: [] })

describe('a large body', () => {
  test('that is nearly a cycle gives the columns or the problems that it gives on the event loop', async () => {
    for (let seed = 1; seed <= 20; seed++) await expectSame('cycle', mutatedBody(new Random(seed)))
  })

  test('that is no JSON, no UTF-8 or too deep is refused with the same words', async () => {
    const valid = bytesOf(cycleBody(0, {}))
    for (const body of [
      valid.subarray(0, -1),
      Buffer.concat([valid, Buffer.from(',')]),
      Buffer.concat([valid, Buffer.from([0xff])]),
      Buffer.from('['.repeat(100_000)),
      Buffer.from('[1]'),
    ])
      await expectSame('cycle', body)
  })

  test('may list more problems than are told', async () => {
    const wrong = Array.from({ length: 300 }, (_, n) => ({ ...candidate('g', n + 1), title: n }))
    await expectSame('cycle', bytesOf({ ...cycleBody(0, {}), candidates: wrong }))
  })

  test('of outcomes or weights gives what it gives on the event loop', async () => {
    const outcome = {
      placement_id: '배치-1',
      gall_id: 'g',
      post_no: 1,
      tier: 'main',
      placed_at: '2024-03-01T00:00:00Z',
      picked_by: { type: 'operator' },
      more: { of: ['anything', 1e21] },
    }
    const outcomes = [outcome, { ...outcome, placement_id: 'p2', tier: '메인' }]
    await expectSame('outcomes', bytesOf({ outcomes }))
    await expectSame('outcomes', bytesOf({ outcomes: [] }))
    await expectSame('outcomes', bytesOf({ outcomes: [outcome, { ...outcome, post_no: 'x' }] }))
    const weights = { views: 1, comments: 1, up: 1, downvote_share: 0 }
    await expectSame('weights', bytesOf({ version: 'w', weights, other: 1 }))
    await expectSame('weights', bytesOf({ version: 'w', weights: { ...weights, up: null } }))
  })

  test('stays as it is, and may be part of a buffer', async () => {
    const body = large(bytesOf(cycleBody(0, {})))
    const buffer = Buffer.concat([Buffer.from('[['), body, Buffer.from(']]')])
    await readBody('cycle', buffer.subarray(2, -2))
    expect(buffer.subarray(2, -2).equals(body)).toBe(true)
  })

  test('waits for the ones before it, and finds the thread that read them', async () => {
    let started = 0
    let asked = 0
    let most = 0
    const reader = new BodyReader(() => {
      started++
      const thread = startReading()
      const ask = thread.postMessage.bind(thread)
      thread.postMessage = (...question) => {
        most = Math.max(most, ++asked)
        ask(...question)
      }
      return thread.on('message', () => asked--)
    })
    const body = large(bytesOf(cycleBody(0, {})))
    await Promise.all([1, 2, 3].map(() => reader.read('cycle', body)))
    await reader.read('cycle', body)
    await expect(reader.read('cycle', body.subarray(1, -1))).rejects.toThrow('the body ends too early')
    expect(await reader.read('cycle', body)).toEqual(readers.cycle(body))
    expect({ started, most }).toEqual({ started: 1, most: 1 })
    reader.end()
  })

  test('may be as large as bodies may be, and a smaller one after it is read without its end', async () => {
    const valid = bytesOf(cycleBody(0, { candidates: [candidate('g', 1)] }))
    const largest = large(valid, jsonBodyBytesMax - valid.length)
    for (const body of [largest, large(valid), largest]) {
      const columns = await readBody('cycle', body)
      expect(isDeepStrictEqual(columns, readers.cycle(body))).toBe(true)
    }
  })

  test('leaves what was read of the body before it alone', async () => {
    const [a, b] = ['a', 'b'].map((id) => large(bytesOf(cycleBody(0, { candidates: [candidate(id, 1)] }))))
    const columns = await readBody('cycle', a!)
    await readBody('cycle', b!)
    expect(isDeepStrictEqual(columns, readers.cycle(a!))).toBe(true)
  })

  test('is put off when too many bytes wait already', async () => {
    const body = Buffer.alloc(jsonBodyBytesMax, ' ')
    const reader = new BodyReader(never)
    const failing = Array.from({ length: 5 }, () => reader.read('cycle', body))
    const answers = await Promise.allSettled(failing)
    const messages = answers.map((answer) => (answer as PromiseRejectedResult).reason as ServiceError)
    expect(messages.map(({ kind }) => kind)).toEqual(Array(5).fill('unavailable'))
    expect(messages.at(-1)).toMatchObject({
      retryAfterS: 1,
      message: 'too many large bodies wait to be examined',
    })
    // Whatever became of them, they wait no longer.
    await expect(reader.read('cycle', body)).rejects.toMatchObject({
      message: 'the body could not be examined',
    })
  })
})

test('a small body needs no thread', async () => {
  const body = bytesOf(cycleBody(0, {}))
  const reader = new BodyReader(never)
  expect(await reader.read('cycle', body)).toEqual(readers.cycle(body))
  await expect(reader.read('cycle', Buffer.from('{'))).rejects.toThrow('the body ends too early')
})

test.skipIf(nativeCodecOrNull === null)(
  'the native codec reads what it refuses, and what is larger than any cycle, with the words of the reference',
  async () => {
    for (const spaces of [0, promptBytesMax, 9 * 1024 * 1024]) {
      const body = bytesOf({ ...cycleBody(0, {}), candidates: [{}] })
      const spaced = large(body, spaces)
      const answer = await Promise.resolve()
        .then(() => nativeCodecOrNull!.readCycle(spaced))
        .catch(wordsOf)
      expect(answer).toEqual(onTheLoop('cycle', spaced))
      const valid = large(bytesOf(cycleBody(0, { candidates: [candidate('g', 1)] })), spaces)
      const columns = { ...(await nativeCodecOrNull!.readCycle(valid)) }
      delete columns.release
      expect(isDeepStrictEqual(columns, readers.cycle(valid))).toBe(true)
    }
  },
)

test('a body whose thread fails is answered with 503 and the reason, and the next one finds another thread', async () => {
  const body = large(bytesOf(cycleBody(0, {})))
  for (const [start, reason] of [
    [never, 'no thread was to start'],
    [evaluated('throw new Error("broken")'), 'failed: broken'],
    [evaluated('process.exit(3)'), 'ended with code 3'],
    [evaluated(''), 'ended with code 0'],
  ] as const) {
    const starts = [start, startReading]
    const reader = new BodyReader(() => starts.shift()!())
    const failing = reader.read('cycle', body)
    const next = reader.read('cycle', body)
    await expect(failing).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'the body could not be examined',
      cause: { message: expect.stringContaining(reason) as string },
    })
    expect(await next).toEqual(readers.cycle(body))
    reader.end()
  }
})

test('a thread that fails while it has nothing to do is replaced by the next body', async () => {
  const reader = new BodyReader()
  const body = large(bytesOf(cycleBody(0, {})))
  expect(await reader.read('cycle', body)).toEqual(readers.cycle(body))
  reader.end()
  expect(await reader.read('cycle', body)).toEqual(readers.cycle(body))
  reader.end()
})
