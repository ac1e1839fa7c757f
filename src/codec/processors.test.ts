/** Where threads are put that others wake: which processors they may run on meanwhile, and afterwards. */
import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import { gzip } from 'node:zlib'
import { describe, expect, onTestFinished, test } from 'vitest'
import { loadAddon } from './native-addon.js'
import { wakePoolElsewhere } from './pool-threads.js'

describe.runIf(process.platform === 'linux' && availableParallelism() > 1)('a thread that is woken', () => {
  const addon = loadAddon()

  test('may run on all processors of its waker but one, until it is awake', async () => {
    const thread = await someThread()
    const all = processorsOf('/proc/thread-self')
    const given = addon.wakeElsewhere(Int32Array.of(thread), () => {
      const others = processorsOf(`/proc/self/task/${thread}`)
      expect(others).toHaveLength(all.length - 1)
      expect(all).toEqual(expect.arrayContaining(others))
      return 'what it gives'
    })
    expect(given).toBe('what it gives')
    expect(processorsOf(`/proc/self/task/${thread}`)).toEqual(all)
  })

  test('may run everywhere again when waking it fails, and the failure is heard of', async () => {
    const thread = await someThread()
    const fail = (): never => {
      throw new Error('the bell is broken')
    }
    expect(() => addon.wakeElsewhere(Int32Array.of(thread), fail)).toThrow('the bell is broken')
    expect(processorsOf(`/proc/self/task/${thread}`)).toEqual(processorsOf('/proc/thread-self'))
  })

  test('that is kept elsewhere stays so, and has not fewer processors the next time', async () => {
    const thread = await someThread()
    const all = processorsOf('/proc/thread-self')
    for (let time = 0; time < 3; time++) {
      addon.keepElsewhere(Int32Array.of(thread))
      expect(processorsOf(`/proc/self/task/${thread}`)).toHaveLength(all.length - 1)
    }
  })

  test('keeps to the processors that it had, if they are fewer than its waker’s', async () => {
    const thread = await someThread()
    addon.keepElsewhere(Int32Array.of(thread))
    const given = processorsOf(`/proc/self/task/${thread}`)
    addon.wakeElsewhere(Int32Array.of(thread), () => undefined)
    expect(processorsOf(`/proc/self/task/${thread}`)).toEqual(given)
  })

  test('that is gone, or none at all, is nobody’s trouble', () => {
    expect(() => addon.keepElsewhere(Int32Array.of(0, -1, 2 ** 22 - 1))).not.toThrow()
    expect(addon.wakeElsewhere(new Int32Array(0), () => 1)).toBe(1)
  })
})

test.runIf(process.platform === 'linux' && availableParallelism() > 1)(
  'the pool is woken on all processors but the waker’s, and then may use all of them',
  async () => {
    await promisify(gzip)('work for the pool')
    const pool = threads().filter(
      (thread) => readFileSync(`/proc/self/task/${thread}/comm`, 'utf8').trim() === 'libuv-worker',
    )
    const all = processorsOf('/proc/thread-self')
    const counts = (): number[] => pool.map((thread) => processorsOf(`/proc/self/task/${thread}`).length)
    expect(pool.length).toBeGreaterThan(0)
    expect(wakePoolElsewhere(counts)).toEqual(pool.map(() => all.length - 1))
    expect(counts()).toEqual(pool.map(() => all.length))
  },
)

test('waking the pool gives what the wake gives, and throws what it throws', () => {
  expect(wakePoolElsewhere(() => 7)).toBe(7)
  const fail = (): never => {
    throw new Error('no work')
  }
  expect(() => wakePoolElsewhere(fail)).toThrow('no work')
})

/** One of this process, which sleeps. */
async function someThread(): Promise<number> {
  const before = new Set(threads())
  const worker = new Worker("require('node:worker_threads').parentPort.on('message', () => {})", {
    eval: true,
  })
  onTestFinished(async () => {
    await worker.terminate()
  })
  await new Promise((resolve) => worker.once('online', resolve))
  return threads().find((thread) => !before.has(thread)) ?? 0
}

function threads(): number[] {
  return readdirSync('/proc/self/task').map(Number)
}

/** Numbers of those on which it may run. */
function processorsOf(task: string): number[] {
  const list = /^Cpus_allowed_list:\s*(.*)$/m.exec(readFileSync(`${task}/status`, 'utf8'))?.[1] ?? ''
  return list.split(',').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number)
    return Array.from({ length: last - first + 1 }, (_, i) => first + i)
  })
}
