/** Bodies that are compared in a worker thread: the same results, whatever happens to the thread. */
import { Worker } from 'node:worker_threads'
import { describe, expect, test } from 'vitest'
import { jsonDepthMax } from '../contract/index.js'
import { compareBodies, inlineComparisonBytesMax } from './compare-bodies.js'
import { startWorker, WorkerRunner, type StartWorker } from './worker.js'

/** A body too large to be compared at once; `reversed` reverses its members. */
function largeBody(reversed: boolean, last: unknown = 1): Buffer {
  const members = Array.from(
    { length: 30_000 },
    (_, n) => `"member ${n}":${n === 0 ? JSON.stringify(last) : n}`,
  )
  return Buffer.from(`{${(reversed ? members.reverse() : members).join(',')}}`)
}

const isSame = async (...call: Parameters<typeof compareBodies>): Promise<boolean> =>
  (await compareBodies(...call)).length === 0

const noThread: StartWorker = () => {
  throw new Error('a thread is started')
}

const evaluated =
  (code: string): StartWorker =>
  () =>
    new Worker(code, { eval: true, execArgv: [] })

describe('two large bodies', () => {
  test('are compared by value in a thread', async () => {
    expect(largeBody(false).length).toBeGreaterThan(inlineComparisonBytesMax)
    expect(await isSame(largeBody(false), largeBody(true))).toBe(true)
    expect(await compareBodies(largeBody(false), largeBody(true, 2))).toEqual([
      { path: 'member 0', problem: 'was 1, is 2' },
    ])
  })

  test('may nest as deep as the contract allows', async () => {
    const deep = '['.repeat(jsonDepthMax - 1) + ']'.repeat(jsonDepthMax - 1)
    const bodies = [1, 2].map((spaces) =>
      Buffer.from(`[${' '.repeat(inlineComparisonBytesMax * spaces)}${deep}]`),
    )
    expect(await isSame(bodies[0]!, bodies[1]!)).toBe(true)
  })

  test('are not changed, and may be parts of one buffer', async () => {
    const [a, b] = [largeBody(false), largeBody(true)]
    const both = Buffer.concat([a, b])
    const [partA, partB] = [both.subarray(0, a.length), both.subarray(a.length)]
    expect(await isSame(partA, partB)).toBe(true)
    expect(partA.equals(a) && partB.equals(b)).toBe(true)
  })

  test('need no thread when their bytes are equal or they are small', async () => {
    expect(await isSame(largeBody(true), largeBody(true), new WorkerRunner(noThread))).toBe(true)
    expect(await isSame(Buffer.from('[1]'), Buffer.from('[1.0]'), new WorkerRunner(noThread))).toBe(true)
    expect(await isSame(Buffer.from('[1]'), Buffer.from('[2]'), new WorkerRunner(noThread))).toBe(false)
  })

  test('wait for the comparisons before them', async () => {
    let running = 0
    let most = 0
    const runner = new WorkerRunner(() => {
      const thread = startWorker()
      const post = thread.postMessage.bind(thread)
      thread.postMessage = (...message) => {
        most = Math.max(most, ++running)
        post(...message)
      }
      return thread.on('message', () => running--)
    })
    const answers = [1, 2, 1, 3].map((last) => isSame(largeBody(false), largeBody(true, last), runner))
    expect(await Promise.all(answers)).toEqual([true, false, true, false])
    expect(most).toBe(1)
    runner.end()
  })
})

test('a comparison whose thread fails is rejected, and the next one gets another thread', async () => {
  const [a, b] = [largeBody(false), largeBody(true)]
  for (const [start, reason] of [
    [noThread, 'a thread is started'],
    [evaluated('throw new Error("broken")'), 'failed: broken'],
    [evaluated('process.exit(3)'), 'ended with exit code 3'],
    [evaluated(''), 'ended with exit code 0'],
  ] as const) {
    const starts = [start, startWorker]
    const runner = new WorkerRunner(() => starts.shift()!())
    const failing = isSame(a, b, runner)
    const next = isSame(a, b, runner)
    await expect(failing).rejects.toThrow(reason)
    expect(await next).toBe(true)
    runner.end()
  }
  await expect(compareBodies(a, Buffer.from('['.repeat(inlineComparisonBytesMax)))).rejects.toThrow('JSON')
  await expect(compareBodies(Buffer.from('['), Buffer.from(']'))).rejects.toThrow('JSON')
})
