/** Bodies that a worker thread handles: the same values and errors as on the event loop, even if the thread fails. */
import { isDeepStrictEqual } from 'node:util'
import { Worker } from 'node:worker_threads'
import { describe, expect, test } from 'vitest'
import { bytesOf, candidate, cycleBody } from '../../test/helpers/bodies.js'
import { nativeCodecOrNull } from '../../test/helpers/codecs.js'
import { mutatedBody } from '../../test/fuzz/cycle-bodies.js'
import { Random } from '../../test/harness/rng.js'
import { jsonBodyBytesMax, jsonDepthMax, ServiceError } from '../contract/index.js'
import { inlineBytesMax, runBodyTask, runInline, type BodyTaskName } from './body-tasks.js'
import { decodeCycle } from './decode-cycle.js'
import { startWorker, WorkerRunner, type StartWorker } from './worker.js'

/** The same JSON, too large to be read at once. */
function large(body: Uint8Array, bytes = inlineBytesMax): Buffer {
  return Buffer.concat([Buffer.alloc(bytes, ' '), body])
}

/** Many members, in reverse order if `reversed` is true. */
function manyMembers(reversed: boolean, last: unknown = 1): Buffer {
  const members = Array.from(
    { length: 30_000 },
    (_, n) => `"member ${n}":${n === 0 ? JSON.stringify(last) : n}`,
  )
  return Buffer.from(`{${(reversed ? members.reverse() : members).join(',')}}`)
}

const readCycle = (body: Uint8Array, runner?: WorkerRunner): ReturnType<typeof runBodyTask<'cycle'>> =>
  runBodyTask('cycle', [body], { runner })

const isSame = async (was: Uint8Array, is: Uint8Array, runner?: WorkerRunner): Promise<boolean> =>
  (await runBodyTask('differences', [was, is], { runner })).length === 0

function onEventLoop(name: BodyTaskName, body: Uint8Array): unknown {
  try {
    return runInline(name, [body, body])
  } catch (error) {
    return recordOf(error)
  }
}

function recordOf(error: unknown): unknown {
  if (!(error instanceof ServiceError)) throw error
  return error.toRecord()
}

async function expectSame(name: 'cycle' | 'outcomes' | 'weights', body: Uint8Array): Promise<void> {
  const spaced = large(body)
  const inWorker = await runBodyTask(name, [spaced]).catch(recordOf)
  const expected = onEventLoop(name, spaced)
  if (!isDeepStrictEqual(inWorker, expected)) expect(inWorker, body.toString()).toEqual(expected)
}

const noThread: StartWorker = () => {
  throw new Error('a thread is started')
}

const evaluated =
  (code: string): StartWorker =>
  () =>
    new Worker(code, { eval: true, execArgv: [] })

describe('a large body', () => {
  test('that is a mutated cycle gives the same columns or problems as on the event loop', async () => {
    for (let seed = 1; seed <= 20; seed++) await expectSame('cycle', mutatedBody(new Random(seed)))
  })

  test('that is not JSON, not UTF-8 or nested too deeply is refused with the same message', async () => {
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

  test('may have more problems than the error lists', async () => {
    const wrong = Array.from({ length: 300 }, (_, n) => ({ ...candidate('g', n + 1), title: n }))
    await expectSame('cycle', bytesOf({ ...cycleBody(0, {}), candidates: wrong }))
  })

  test('of outcomes or weights gives the same values as on the event loop', async () => {
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

  test('is not changed, and may be part of a larger buffer', async () => {
    const body = large(bytesOf(cycleBody(0, {})))
    const buffer = Buffer.concat([Buffer.from('[['), body, Buffer.from(']]')])
    await readCycle(buffer.subarray(2, -2))
    expect(buffer.subarray(2, -2).equals(body)).toBe(true)
  })

  test('waits for the bodies before it, and is read by the same thread', async () => {
    let started = 0
    let running = 0
    let runningMost = 0
    const runner = new WorkerRunner(() => {
      started++
      const thread = startWorker()
      const post = thread.postMessage.bind(thread)
      thread.postMessage = (...task) => {
        runningMost = Math.max(runningMost, ++running)
        post(...task)
      }
      return thread.on('message', () => running--)
    })
    const body = large(bytesOf(cycleBody(0, {})))
    await Promise.all([1, 2, 3].map(() => readCycle(body, runner)))
    await readCycle(body, runner)
    await expect(readCycle(body.subarray(1, -1), runner)).rejects.toThrow('the body ends too early')
    expect(await readCycle(body, runner)).toEqual(decodeCycle(body))
    expect({ started, runningMost }).toEqual({ started: 1, runningMost: 1 })
    runner.end()
  })

  test('may have the maximum size, and does not affect a smaller one after it', async () => {
    const valid = bytesOf(cycleBody(0, { candidates: [candidate('g', 1)] }))
    const largest = large(valid, jsonBodyBytesMax - valid.length)
    for (const body of [largest, large(valid), largest])
      expect(isDeepStrictEqual(await readCycle(body), decodeCycle(body))).toBe(true)
  })

  test('does not change the columns of the body before it', async () => {
    const [a, b] = ['a', 'b'].map((id) => large(bytesOf(cycleBody(0, { candidates: [candidate(id, 1)] }))))
    const columns = await readCycle(a!)
    await readCycle(b!)
    expect(isDeepStrictEqual(columns, decodeCycle(a!))).toBe(true)
  })
})

describe('two large bodies', () => {
  test('are compared by value in a thread', async () => {
    expect(await isSame(manyMembers(false), manyMembers(true))).toBe(true)
    expect(await runBodyTask('differences', [manyMembers(false), manyMembers(true, 2)])).toEqual([
      { path: 'member 0', problem: 'was 1, is 2' },
    ])
  })

  test('may nest as deep as the contract allows', async () => {
    const deep = '['.repeat(jsonDepthMax - 1) + ']'.repeat(jsonDepthMax - 1)
    const [a, b] = [1, 2].map((spaces) => Buffer.from(`[${' '.repeat(inlineBytesMax * spaces)}${deep}]`))
    expect(await isSame(a!, b!)).toBe(true)
  })

  test('are not changed, and may be parts of one buffer', async () => {
    const [a, b] = [manyMembers(false), manyMembers(true)]
    const both = Buffer.concat([a, b])
    const [partA, partB] = [both.subarray(0, a.length), both.subarray(a.length)]
    expect(await isSame(partA, partB)).toBe(true)
    expect(partA.equals(a) && partB.equals(b)).toBe(true)
  })

  test('that are not JSON are an error of this program', async () => {
    const unread = Buffer.from('['.repeat(inlineBytesMax))
    await expect(isSame(manyMembers(false), unread)).rejects.toMatchObject({ kind: 'unavailable' })
    await expect(isSame(Buffer.from('['), Buffer.from(']'))).rejects.toThrow('JSON')
  })
})

test('small bodies need no thread', async () => {
  const body = bytesOf(cycleBody(0, {}))
  const runner = new WorkerRunner(noThread)
  expect(await readCycle(body, runner)).toEqual(decodeCycle(body))
  await expect(readCycle(Buffer.from('{'), runner)).rejects.toThrow('the body ends too early')
  expect(await isSame(Buffer.from('[1]'), Buffer.from('[1.0]'), runner)).toBe(true)
  expect(await isSame(Buffer.from('[1]'), Buffer.from('[2]'), runner)).toBe(false)
})

test.skipIf(nativeCodecOrNull === null)(
  'the native codec gives the errors of the reference codec, even for bodies larger than any cycle',
  async () => {
    for (const spaces of [0, inlineBytesMax, 9 * 1024 * 1024]) {
      const body = bytesOf({ ...cycleBody(0, {}), candidates: [{}] })
      const spaced = large(body, spaces)
      const outcome = await Promise.resolve()
        .then(() => nativeCodecOrNull!.readCycle(spaced))
        .catch(recordOf)
      expect(outcome).toEqual(onEventLoop('cycle', spaced))
      const valid = large(bytesOf(cycleBody(0, { candidates: [candidate('g', 1)] })), spaces)
      const columns = await nativeCodecOrNull!.readCycle(valid)
      expect(isDeepStrictEqual(columns, decodeCycle(valid))).toBe(true)
    }
  },
)

test('a body whose thread fails is refused as unavailable, and the next one gets another thread', async () => {
  const body = large(bytesOf(cycleBody(0, {})))
  for (const [start, reason] of [
    [noThread, 'a thread is started'],
    [evaluated('throw new Error("broken")'), 'failed: broken'],
    [evaluated('process.exit(3)'), 'ended with exit code 3'],
    [evaluated(''), 'ended with exit code 0'],
  ] as const) {
    const starts = [start, startWorker]
    const runner = new WorkerRunner(() => starts.shift()!())
    const failing = readCycle(body, runner)
    const next = readCycle(body, runner)
    await expect(failing).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'the body could not be processed',
      cause: { message: expect.stringContaining(reason) as string },
    })
    expect(await next).toEqual(decodeCycle(body))
    runner.end()
  }
})

test('a thread that ends while it is idle is replaced for the next body', async () => {
  const runner = new WorkerRunner()
  const body = large(bytesOf(cycleBody(0, {})))
  expect(await readCycle(body, runner)).toEqual(decodeCycle(body))
  runner.end()
  expect(await readCycle(body, runner)).toEqual(decodeCycle(body))
  runner.end()
})

test('a task whose caller is aborted leaves the queue of the thread', async () => {
  const runner = new WorkerRunner()
  const body = large(bytesOf(cycleBody(0, {})))
  const [running, waiting] = [new AbortController(), new AbortController()]
  const first = runBodyTask('cycle', [body], { runner, signal: running.signal })
  const second = runBodyTask('cycle', [body], { runner, signal: waiting.signal })
  const gone = new ServiceError({ code: 'disconnected' })
  for (const client of [running, waiting]) client.abort(gone)
  await expect(second).rejects.toBe(gone)
  expect(await first).toEqual(decodeCycle(body))
  runner.end()
})

test('a task that exceeds its time limit fails, and its thread is ended', async () => {
  const hangs = evaluated("require('node:worker_threads').parentPort.on('message', () => { for (;;); })")
  const runner = new WorkerRunner(hangs, { taskMsMax: 200 })
  await expect(runner.run('cycle', [Buffer.from('{}')])).rejects.toThrow('took longer than 200 ms')
})

test('a thread that runs out of heap fails its task, not the process', async () => {
  const greedy =
    "require('node:worker_threads').parentPort.on('message', () => { const all = []; for (;;) all.push(new Array(1e5).fill({})) })"
  const runner = new WorkerRunner(
    () => new Worker(greedy, { eval: true, execArgv: [], resourceLimits: { maxOldGenerationSizeMb: 32 } }),
  )
  await expect(runner.run('cycle', [Buffer.from('{}')])).rejects.toThrow('out of memory')
})
