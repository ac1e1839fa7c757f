/** Processes that run behind this one, and come back. Where the system does not let them, they are behind for good. */
import { readdirSync, readFileSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { ProcessBehind } from './priority.js'
import { startProcess, type StartedProcess } from './processes/index.js'

/** As Linux numbers them. */
const [ordinary, idle] = [0, 5]

afterEach(() => {
  vi.useRealTimers()
})

/** One that says when it is up, with a process of its own and some threads. */
function parent(): StartedProcess {
  const child = startProcess([
    '-e',
    `const { spawn } = require('node:child_process')
     const started = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: ['pipe', 'ignore', 'ignore'] })
     require('node:fs').writeSync(3, String(started.pid))
     process.stdin.resume().on('close', () => started.kill('SIGKILL'))`,
  ])
  onTestFinished(() => child.kill())
  return child
}

const heard = (child: StartedProcess): Promise<number> =>
  new Promise((resolve) => child.messages!.once('data', (said) => resolve(Number(said))))

/** Scheduling class and nice value of each thread. */
function classesOf(pid: number): string[] {
  return readdirSync(`/proc/${pid}/task`).map((thread) => {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8').split(') ').at(-1)!.split(' ')
    return `class ${stat[38]}, nice ${stat[16]}`
  })
}

const everyThread = (pid: number, policy: number, nice: number): void =>
  expect(new Set(classesOf(pid))).toEqual(new Set([`class ${policy}, nice ${nice}`]))

/** CAP_SYS_NICE, without which this process could not take a change back. */
function maySetPriority(): boolean {
  if (process.platform !== 'linux') return false
  const [, capabilities = '0'] = /^CapEff:\s*(\w+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
  return ((BigInt(`0x${capabilities}`) >> 23n) & 1n) === 1n
}

describe.runIf(process.platform === 'linux')('a process behind this one', () => {
  test('runs only when a core is idle, and so does what it starts, until it rises like this one', async () => {
    const child = parent()
    const pid = child.pid!
    const behind = new ProcessBehind(pid)
    onTestFinished(() => behind.leave())
    const started = await heard(child)
    if (!behind.mayRise) {
      expect(getPriority(pid)).toBeGreaterThan(getPriority())
      return
    }
    for (const each of [pid, started]) everyThread(each, idle, getPriority())
    behind.rise()
    everyThread(pid, ordinary, getPriority())
  })

  test('gets a share after a while, and so does what it has started: there may be no idle core', async () => {
    const child = parent()
    const pid = child.pid!
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const behind = new ProcessBehind(pid)
    const started = await heard(child)
    vi.advanceTimersByTime(60_000)
    for (const each of [pid, started]) everyThread(each, ordinary, Math.max(10, getPriority()))
    if (!behind.mayRise) return
    behind.rise()
    everyThread(pid, ordinary, getPriority())
  })

  test('that may not rise runs only when a core is idle if it can be ended, and its owner hears when none was', () => {
    const child = parent()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const starved = vi.fn()
    const behind = new ProcessBehind(child.pid!, { starved })
    expect(classesOf(child.pid!).at(0)).toMatch(new RegExp(`^class ${idle}, `))
    vi.advanceTimersByTime(60_000)
    expect(starved).toHaveBeenCalledTimes(behind.mayRise ? 0 : 1)
  })

  test('gets a share at once where another has found no idle core before', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const cores = { areMissing: false }
    const starved = vi.fn()
    new ProcessBehind(parent().pid!, { cores, starved })
    vi.advanceTimersByTime(60_000)
    const next = parent()
    const behind = new ProcessBehind(next.pid!, { cores, starved })
    await heard(next)
    everyThread(next.pid!, ordinary, Math.max(10, getPriority()))
    expect(vi.getTimerCount()).toBe(0)
    if (!behind.mayRise) return
    behind.rise()
    everyThread(next.pid!, ordinary, getPriority())
  })

  test('rises as well where no process can be told to run only when a core is idle', async () => {
    const child = parent()
    await heard(child)
    const behind = new ProcessBehind(child.pid!, { runWhenIdle: () => false })
    onTestFinished(() => behind.leave())
    everyThread(child.pid!, ordinary, Math.max(10, getPriority()))
    if (!behind.mayRise) return
    behind.rise()
    everyThread(child.pid!, ordinary, getPriority())
  })

  test('is behind with all threads that it has by then', async () => {
    const child = parent()
    await heard(child)
    const behind = new ProcessBehind(child.pid!, { starved: () => undefined })
    onTestFinished(() => behind.leave())
    everyThread(child.pid!, idle, getPriority())
  })

  test.runIf(maySetPriority())(
    'does not wait for an idle core where this one can fall no further',
    async () => {
      const priority = getPriority()
      const child = parent()
      await heard(child)
      setPriority(19)
      try {
        const behind = new ProcessBehind(child.pid!)
        expect(behind.mayRise).toBe(false)
        everyThread(child.pid!, ordinary, 19)
      } finally {
        setPriority(priority)
      }
    },
  )

  test('that is gone is nobody to lower', async () => {
    const child = startProcess(['-e', ''])
    for (const stream of [...child.outputs, child.messages!]) stream.resume()
    await child.gone
    const behind = new ProcessBehind(child.pid!)
    expect(behind.mayRise).toBe(false)
    behind.leave()
  })
})
