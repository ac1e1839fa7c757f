/** Comparing bodies in a thread: the same answers, and an end to every wait. */
import { Worker } from 'node:worker_threads'
import { describe, expect, test } from 'vitest'
import { jsonDepthMax } from '../contract/index.js'
import { inlineBytesMax, sameJsonOffThread, startThread, type StartThread } from './same-json-thread.js'

/** A body too large to be compared at once, in members or in reverse. */
function largeBody(reversed: boolean, last: unknown = 1): Buffer {
  const members = Array.from(
    { length: 30_000 },
    (_, n) => `"member ${n}":${n === 0 ? JSON.stringify(last) : n}`,
  )
  return Buffer.from(`{${(reversed ? members.reverse() : members).join(',')}}`)
}

const never: StartThread = () => {
  throw new Error('no thread was to start')
}

const evaluated =
  (code: string): StartThread =>
  () =>
    new Worker(code, { eval: true, execArgv: [] })

describe('two large bodies', () => {
  test('are compared in a thread, by value', async () => {
    expect(largeBody(false).length).toBeGreaterThan(inlineBytesMax)
    expect(await sameJsonOffThread(largeBody(false), largeBody(true))).toBe(true)
    expect(await sameJsonOffThread(largeBody(false), largeBody(true, 2))).toBe(false)
  })

  test('may nest as deep as a body may', async () => {
    const deep = '['.repeat(jsonDepthMax - 1) + ']'.repeat(jsonDepthMax - 1)
    const bodies = [1, 2].map((spaces) => Buffer.from(`[${' '.repeat(inlineBytesMax * spaces)}${deep}]`))
    expect(await sameJsonOffThread(bodies[0]!, bodies[1]!)).toBe(true)
  })

  test('stay as they are, also where they are parts of one buffer', async () => {
    const [a, b] = [largeBody(false), largeBody(true)]
    const both = Buffer.concat([a, b])
    const [partA, partB] = [both.subarray(0, a.length), both.subarray(a.length)]
    expect(await sameJsonOffThread(partA, partB)).toBe(true)
    expect(partA.equals(a) && partB.equals(b)).toBe(true)
  })

  test('with equal bytes need no thread, nor do small ones', async () => {
    expect(await sameJsonOffThread(largeBody(true), largeBody(true), never)).toBe(true)
    expect(await sameJsonOffThread(Buffer.from('[1]'), Buffer.from('[1.0]'), never)).toBe(true)
    expect(await sameJsonOffThread(Buffer.from('[1]'), Buffer.from('[2]'), never)).toBe(false)
  })

  test('wait for the comparisons before them: one thread at a time', async () => {
    let running = 0
    let most = 0
    const counted: StartThread = (pair) => {
      most = Math.max(most, ++running)
      return startThread(pair).on('message', () => running--)
    }
    const answers = [1, 2, 1, 3].map((last) =>
      sameJsonOffThread(largeBody(false), largeBody(true, last), counted),
    )
    expect(await Promise.all(answers)).toEqual([true, false, true, false])
    expect(most).toBe(1)
  })
})

test('a comparison whose thread fails is rejected, and the next one is not', async () => {
  const [a, b] = [largeBody(false), largeBody(true)]
  for (const [start, reason] of [
    [never, 'no thread was to start'],
    [evaluated('throw new Error("broken")'), 'failed: broken'],
    [evaluated('process.exit(3)'), 'ended with code 3'],
    [evaluated(''), 'ended with code 0'],
  ] as const) {
    const failing = sameJsonOffThread(a, b, start)
    const next = sameJsonOffThread(a, b)
    await expect(failing).rejects.toThrow(reason)
    expect(await next).toBe(true)
  }
  await expect(sameJsonOffThread(a, Buffer.from('['.repeat(inlineBytesMax)))).rejects.toThrow('JSON')
  await expect(sameJsonOffThread(Buffer.from('['), Buffer.from(']'))).rejects.toThrow('JSON')
})
