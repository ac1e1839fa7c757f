/** The workers that read the past, with real processes: one at a time, shared, bounded, ended. */
import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { silentLog as log } from '../base/index.js'
import type { Refusal } from '../contract/index.js'
import { startWorker, type HistoryRequest } from '../history/index.js'
import { HistoryReplies, type HistoryRepliesOptions } from './history-replies.js'

// A tenth of the limit: a process of gigabytes is slow.
vi.mock(import('../model/index.js'), async (importOriginal) => {
  const model = await importOriginal()
  return {
    ...model,
    watchMemory: (pid, bytesMax, ...more) => model.watchMemory(pid, bytesMax / 10, ...more),
  }
})

const waitMsMax = 20_000
const repeatMsMax = 90_000
const checkMs = 5000

const open: HistoryReplies[] = []
// Those of processes, and of `expect.poll`, stay real.
const timers = ['setTimeout', 'clearTimeout', 'performance'] as const
beforeEach(() => void vi.useFakeTimers({ toFake: [...timers] }))
afterEach(() => {
  open.splice(0).forEach((replies) => replies.close())
  vi.useRealTimers()
})

const waiting = 'setInterval(() => {}, 1000)'

/** A client that stays. */
const stays = new AbortController().signal

interface Opened {
  readonly replies: HistoryReplies
  /** Ordered by their start. */
  readonly children: ChildProcess[]
}

/** A request for which a program runs in the place of the worker. */
function running(program: string, name = ''): HistoryRequest {
  return { kind: 'verify', version: `${program}//${name}` }
}

function opened(options: Partial<HistoryRepliesOptions> = {}): Opened {
  const children: ChildProcess[] = []
  const replies = new HistoryReplies({
    start: (request, limits, ended) => {
      const program = request.kind === 'verify' ? request.version : ''
      const child = startWorker(process.execPath, ['-e', program], limits, ended)
      children.push(child)
      return child
    },
    lastCycleId: () => 'c1',
    log,
    ...options,
  })
  open.push(replies)
  return { replies, children }
}

async function textOf(replies: HistoryReplies, program: string, name?: string): Promise<string> {
  const { status, body } = await replies.reply(running(program, name), stays)
  return `${status} ${Buffer.from(body).toString().trim()}`
}

/** The status once the request has waited as long as it may. */
async function statusAfterWait(
  replies: HistoryReplies,
  program: string,
  { name, gone = stays }: { readonly name?: string; readonly gone?: AbortSignal } = {},
): Promise<number> {
  const reply = replies.reply(running(program, name), gone)
  vi.advanceTimersByTime(waitMsMax)
  return (await reply).status
}

/** A program that fails as the worker does. */
function failing(reason: Refusal): string {
  const line = JSON.stringify(JSON.stringify(reason))
  return `console.error('a warning'); console.error(${line}); process.exit(1)`
}

test('equal requests share one worker, and its output until a minute has passed or a cycle is stored', async () => {
  let lastCycleId = 'c1'
  const { replies, children } = opened({ lastCycleId: () => lastCycleId })
  const script = 'console.log(process.pid)'
  const [first, second] = await Promise.all([textOf(replies, script), textOf(replies, script)])
  expect(second).toBe(first)
  vi.advanceTimersByTime(59_000)
  expect(await textOf(replies, script)).toBe(first)
  vi.advanceTimersByTime(2000)
  const afterMinute = await textOf(replies, script)
  expect(afterMinute).not.toBe(first)
  lastCycleId = 'c2'
  expect(await textOf(replies, script)).not.toBe(afterMinute)
  expect(await textOf(replies, script, 'other')).toMatch(/^200 \d+$/)
  expect(children).toHaveLength(4)
})

test('one worker runs at a time, at the lowest priority', async () => {
  const { replies, children } = opened()
  const answers = ['a', 'b'].map((name) => textOf(replies, waiting, name))
  vi.advanceTimersByTime(waitMsMax)
  expect(await Promise.all(answers)).toEqual(Array(2).fill('202 {"state":"in progress"}'))
  expect(children).toHaveLength(1)
  expect(getPriority(children[0]?.pid)).toBe(19)
  children[0]?.kill()
  await expect.poll(() => children.length).toBe(2)
})

test('a client that repeats the request after 202 gets the output or the failure', async () => {
  const { replies, children } = opened()
  for (const [script, answer] of [
    ['console.log(1)', '200 1'],
    [failing({ code: 'history_failed', problem: 'damaged' }), 'damaged'],
  ] as const) {
    expect(await statusAfterWait(replies, script)).toBe(202)
    const reply = textOf(replies, script).catch((error: unknown) => (error as Error).message)
    expect(await reply).toBe(answer)
  }
  expect(children).toHaveLength(2)
})

test('a failure is that of the worker; every other end is an error of the server', async () => {
  const { replies } = opened()
  const reply = (program: string) => replies.reply(running(program), stays)
  const reason = { code: 'no_cycles' } as const
  await expect(reply(failing(reason))).rejects.toMatchObject({ kind: 'not_found', reason })
  await expect(reply(failing({ code: 'history_failed', problem: 'damaged' }))).rejects.toMatchObject({
    kind: 'server_error',
    message: 'damaged',
  })
  await expect(reply('process.exit(2)')).rejects.toMatchObject({
    kind: 'server_error',
    message: 'the verify worker exited with code 2',
  })
  await expect(reply('process.exit(1)')).rejects.toMatchObject({ kind: 'server_error' })
})

test('a worker that takes too long or writes too much is ended', async () => {
  const { replies } = opened({
    start: (_, { runMsMax, ...limits }, ended) =>
      startWorker(process.execPath, ['-e', waiting], { ...limits, runMsMax: runMsMax / 2000 }, ended),
  })
  const killed = { kind: 'server_error', message: expect.stringContaining('ended by SIGKILL') as string }
  await expect(replies.reply(running(waiting), stays)).rejects.toMatchObject(killed)
  const { replies: others } = opened()
  const endless = 'const write = () => process.stdout.write("x".repeat(65536), write); write()'
  await expect(others.reply(running(endless), stays)).rejects.toThrow('stdout maxBuffer length exceeded')
  expect(await textOf(others, 'console.log(2)')).toBe('200 2')
})

test('a worker that holds too much memory is ended, and the next one runs', async () => {
  const { replies } = opened()
  const greedy = `globalThis.held = Buffer.alloc(${400 * 2 ** 20}, 1); ${waiting}`
  const killed = { kind: 'server_error', message: expect.stringContaining('ended by SIGKILL') as string }
  await expect(replies.reply(running(greedy), stays)).rejects.toMatchObject(killed)
  expect(await textOf(replies, 'console.log(1)')).toBe('200 1')
})

test('a worker that cannot be started is an error of the server', async () => {
  const { replies } = opened({ start: (_, limits, ended) => startWorker('/nowhere', [], limits, ended) })
  await expect(replies.reply({ kind: 'report' }, stays)).rejects.toMatchObject({
    kind: 'server_error',
    message: 'the report worker failed: spawn /nowhere ENOENT',
  })
})

test('the number of waiting requests is bounded', async () => {
  const { replies } = opened()
  for (let i = 0; i < 5; i++) await statusAfterWait(replies, waiting, { name: String(i) })
  await expect(replies.reply(running(waiting, '5'), stays)).rejects.toMatchObject({
    kind: 'unavailable',
  })
  expect(await statusAfterWait(replies, waiting, { name: '0' })).toBe(202)
})

test('close ends the command that runs, and the waiting ones do not start', async () => {
  const { replies, children } = opened()
  const answers = ['a', 'b'].map((name) => replies.reply(running(waiting, name), stays))
  await expect.poll(() => children.length).toBe(1)
  replies.close()
  const results = await Promise.allSettled(answers)
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(children).toHaveLength(1)
  expect(() => readFileSync(`/proc/${children[0]?.pid}/stat`)).toThrow('ENOENT')
})

test('a worker ends when the last client that waits for it has disconnected', async () => {
  const { replies, children } = opened()
  const clients = [new AbortController(), new AbortController()]
  const answers = clients.map(({ signal }) => replies.reply(running(waiting), signal))
  await expect.poll(() => children.length).toBe(1)
  clients[0]?.abort()
  expect((await answers[0])?.status).toBe(202)
  expect(children[0]?.killed).toBe(false)
  clients[1]?.abort()
  expect((await answers[1])?.status).toBe(202)
  expect(children[0]?.killed).toBe(true)
  expect(await textOf(replies, 'console.log(1)')).toBe('200 1')
})

test('a waiting command whose client has disconnected does not start, and another one takes its place', async () => {
  const { replies, children } = opened()
  await statusAfterWait(replies, waiting, { name: 'first' })
  for (let i = 0; i < 10; i++) {
    const client = new AbortController()
    client.abort()
    await replies.reply(running(waiting, String(i)), client.signal)
  }
  await statusAfterWait(replies, waiting, { name: 'last' })
  children[0]?.kill()
  await expect.poll(() => children.length).toBe(2)
  expect(children[1]?.spawnargs.at(-1)).toMatch(/last$/)
})

test('clients that received 202 and repeat their request have the same worker', async () => {
  const { replies, children } = opened()
  const statuses = await Promise.all([1, 2].map(() => statusAfterWait(replies, waiting)))
  expect(statuses).toEqual([202, 202])
  const repeated = replies.reply(running(waiting), stays)
  const left = new AbortController()
  const leaving = replies.reply(running(waiting), left.signal)
  left.abort()
  await leaving
  expect(children[0]?.killed).toBe(false)
  vi.advanceTimersByTime(waitMsMax)
  expect((await repeated).status).toBe(202)
  expect(children).toHaveLength(1)
})

test('a worker ends when the only client repeats its request after 202 and disconnects', async () => {
  const { replies, children } = opened()
  expect(await statusAfterWait(replies, waiting)).toBe(202)
  const client = new AbortController()
  const repeated = replies.reply(running(waiting), client.signal)
  client.abort()
  await repeated
  expect(children[0]?.killed).toBe(true)
})

/** For a test without a limit of memory, whose interval is real otherwise. */
function fakeIntervals(): void {
  vi.useRealTimers()
  vi.useFakeTimers({ toFake: [...timers, 'setInterval', 'clearInterval'] })
}

test('a worker ends when the clients that received 202 do not repeat their requests', async () => {
  fakeIntervals()
  const { replies, children } = opened()
  expect(await statusAfterWait(replies, waiting)).toBe(202)
  vi.advanceTimersByTime(repeatMsMax - 1)
  expect(children[0]?.killed).toBe(false)
  vi.advanceTimersByTime(checkMs)
  expect(children[0]?.killed).toBe(true)
})

test('a worker goes on while its client repeats the request after each 202, counted from the last one', async () => {
  fakeIntervals()
  const { replies, children } = opened()
  expect(await statusAfterWait(replies, waiting)).toBe(202)
  // The second 202 comes just before the time after the first one ends.
  vi.advanceTimersByTime(repeatMsMax - waitMsMax - 1)
  expect(await statusAfterWait(replies, waiting)).toBe(202)
  vi.advanceTimersByTime(repeatMsMax - 1)
  expect(children[0]?.killed).toBe(false)
})
