/** The commands that read the past, with real processes: one at a time, shared, bounded, ended. */
import { execFile, type ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { afterEach, expect, test } from 'vitest'
import { HistoryCommands, type HistoryCommandsOptions } from './history-commands.js'

const open: HistoryCommands[] = []
afterEach(() => open.splice(0).forEach((commands) => commands.close()))

const silent = (): void => undefined
const log = { debug: silent, info: silent, warn: silent, error: silent }
const waiting = 'setInterval(() => {}, 1000)'

/** A client that stays. */
const stays = new AbortController().signal

interface Opened {
  readonly commands: HistoryCommands
  /** In order of their start. */
  readonly children: ChildProcess[]
}

/** The first argument of a command is the program that runs in its place. */
function opened(options: Partial<HistoryCommandsOptions> = {}): Opened {
  const children: ChildProcess[] = []
  const commands = new HistoryCommands({
    start: ([script = '', ...names], options, ended) => {
      const child = execFile(process.execPath, ['-e', script, ...names], options, ended)
      children.push(child)
      return child
    },
    lastCycleId: () => 'c1',
    log,
    ...options,
  })
  open.push(commands)
  return { commands, children }
}

async function textOf(commands: HistoryCommands, ...args: string[]): Promise<string> {
  const { status, body } = await commands.reply(args, 'not_found', stays)
  return `${status} ${Buffer.from(body).toString().trim()}`
}

test('equal requests share one command, and its output until a minute has passed or a cycle is stored', async () => {
  let [now, lastCycleId] = [0, 'c1']
  const { commands, children } = opened({ clock: () => now, lastCycleId: () => lastCycleId })
  const script = 'console.log(process.pid)'
  const [first, second] = await Promise.all([textOf(commands, script), textOf(commands, script)])
  expect(second).toBe(first)
  now += 59_000
  expect(await textOf(commands, script)).toBe(first)
  now += 2000
  const afterMinute = await textOf(commands, script)
  expect(afterMinute).not.toBe(first)
  lastCycleId = 'c2'
  expect(await textOf(commands, script)).not.toBe(afterMinute)
  expect(await textOf(commands, script, 'other')).toMatch(/^200 \d+$/)
  expect(children).toHaveLength(4)
})

test('one command runs at a time, at the lowest priority', async () => {
  const { commands, children } = opened({ waitMsMax: 0 })
  const replies = ['a', 'b'].map((name) => textOf(commands, waiting, name))
  expect(await Promise.all(replies)).toEqual(Array(2).fill('202 {"state":"in progress"}'))
  expect(children).toHaveLength(1)
  expect(getPriority(children[0]?.pid)).toBe(19)
  children[0]?.kill()
  await expect.poll(() => children.length).toBe(2)
})

test('a client that repeats the request after 202 gets the output or the failure', async () => {
  const { commands, children } = opened({ waitMsMax: 0 })
  const failing = 'console.error("understudy: a warning\\nunderstudy: no such post"); process.exit(1)'
  for (const [script, answer] of [
    ['console.log(1)', '200 1'],
    [failing, 'no such post'],
  ] as const) {
    expect((await commands.reply([script], 'not_found', stays)).status).toBe(202)
    const reply = (): Promise<string> =>
      textOf(commands, script).catch((error: unknown) => (error as Error).message)
    await expect.poll(reply).toBe(answer)
  }
  expect(children).toHaveLength(2)
})

test('exit code 1 has the meaning that the caller gives it; every other end is an error of the server', async () => {
  const { commands } = opened()
  const failure = 'console.error("understudy: damaged"); process.exit(1)'
  await expect(commands.reply([failure], 'not_found', stays)).rejects.toMatchObject({ kind: 'not_found' })
  await expect(commands.reply([failure, 'x'], 'server_error', stays)).rejects.toMatchObject({
    ...{ kind: 'server_error', message: 'damaged' },
  })
  await expect(commands.reply(['process.exit(2)'], 'not_found', stays)).rejects.toMatchObject({
    kind: 'server_error',
  })
})

test('a command that takes too long or writes too much is ended', async () => {
  const { commands } = opened({ runMsMax: 300 })
  const killed = { kind: 'server_error', message: expect.stringContaining('ended by SIGKILL') as string }
  await expect(commands.reply([waiting], 'not_found', stays)).rejects.toMatchObject(killed)
  const { commands: others } = opened()
  const endless = 'const write = () => process.stdout.write("x".repeat(65536), write); write()'
  await expect(others.reply([endless], 'not_found', stays)).rejects.toThrow(
    'stdout maxBuffer length exceeded',
  )
  expect(await textOf(others, 'console.log(2)')).toBe('200 2')
})

test('a command that holds too much memory is ended, and the next one runs', async () => {
  const { commands } = opened({ memoryBytesMax: 300 * 2 ** 20 })
  const greedy = `globalThis.held = Buffer.alloc(${400 * 2 ** 20}, 1); ${waiting}`
  const killed = { kind: 'server_error', message: expect.stringContaining('ended by SIGKILL') as string }
  await expect(commands.reply([greedy], 'not_found', stays)).rejects.toMatchObject(killed)
  expect(await textOf(commands, 'console.log(1)')).toBe('200 1')
})

test('a command that cannot be started is an error of the server', async () => {
  const { commands } = opened({ start: (_, options, ended) => execFile('/nowhere', options, ended) })
  await expect(commands.reply(['report'], 'not_found', stays)).rejects.toMatchObject({
    ...{ kind: 'server_error', message: 'understudy report failed: spawn /nowhere ENOENT' },
  })
})

test('the number of waiting commands is bounded', async () => {
  const { commands } = opened({ waitMsMax: 0 })
  for (let i = 0; i < 5; i++) await commands.reply([waiting, String(i)], 'not_found', stays)
  await expect(commands.reply([waiting, '5'], 'not_found', stays)).rejects.toMatchObject({
    kind: 'unavailable',
  })
  expect((await commands.reply([waiting, '0'], 'not_found', stays)).status).toBe(202)
})

test('close ends the command that runs, and the waiting ones do not start', async () => {
  const { commands, children } = opened()
  const replies = ['a', 'b'].map((name) => commands.reply([waiting, name], 'not_found', stays))
  await expect.poll(() => children.length).toBe(1)
  commands.close()
  const results = await Promise.allSettled(replies)
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(children).toHaveLength(1)
  expect(() => readFileSync(`/proc/${children[0]?.pid}/stat`)).toThrow('ENOENT')
})

test('a command ends when the last client that waits for it has disconnected', async () => {
  const { commands, children } = opened()
  const clients = [new AbortController(), new AbortController()]
  const replies = clients.map(({ signal }) => commands.reply([waiting], 'not_found', signal))
  await expect.poll(() => children.length).toBe(1)
  clients[0]?.abort()
  expect((await replies[0])?.status).toBe(202)
  expect(children[0]?.killed).toBe(false)
  clients[1]?.abort()
  expect((await replies[1])?.status).toBe(202)
  expect(children[0]?.killed).toBe(true)
  expect(await textOf(commands, 'console.log(1)')).toBe('200 1')
})

test('a waiting command whose client has disconnected does not start, and another one takes its place', async () => {
  const { commands, children } = opened({ waitMsMax: 0 })
  await commands.reply([waiting, 'first'], 'not_found', stays)
  for (let i = 0; i < 10; i++) {
    const client = new AbortController()
    client.abort()
    await commands.reply([waiting, String(i)], 'not_found', client.signal)
  }
  await commands.reply([waiting, 'last'], 'not_found', stays)
  children[0]?.kill()
  await expect.poll(() => children.length).toBe(2)
  expect(children[1]?.spawnargs.at(-1)).toBe('last')
})

test('a command goes on while a client that received 202 may repeat its request', async () => {
  const { commands, children } = opened({ waitMsMax: 0 })
  const replies = await Promise.all([1, 2].map(() => commands.reply([waiting], 'not_found', stays)))
  expect(replies.map(({ status }) => status)).toEqual([202, 202])
  const repeated = new AbortController()
  repeated.abort()
  await commands.reply([waiting], 'not_found', repeated.signal)
  expect(children[0]?.killed).toBe(false)
})

test('a command ends when the clients that received 202 do not repeat their requests', async () => {
  const { commands, children } = opened({ waitMsMax: 0, repeatMsMax: 1 })
  expect((await commands.reply([waiting], 'not_found', stays)).status).toBe(202)
  await expect.poll(() => children[0]?.killed).toBe(true)
})
