/**
 * The lifecycle of session processes, with stubs that fail as a broken driver or library would. Real graphs, and real
 * crashes, are in loaded-model.test.ts.
 */
import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type * as base from '../../base/index.js'
import { nextTurn, silentLog } from '../../base/index.js'
import { ModelError } from '../model.js'
import type { ServingPlan } from './plans.js'
import type { OwnerFormat } from './messages.js'
import { SessionHost, type HostOptions } from './session-host.js'
import { outputDroppedChannel, type OutputDropped } from './session-process.js'

/** Starts a stub in place of the program of a process. */
let startStub: (options: SpawnOptions) => ChildProcess

vi.mock('../../base/index.js', async (importOriginal) => ({
  ...(await importOriginal<typeof base>()),
  startProcess: (_file: string, _args: readonly string[], options: SpawnOptions) => startStub(options),
}))

/** A stub replies to a request with the request. */
const format: OwnerFormat<unknown, unknown> = {
  replyKind: 'done',
  describe: () => 'a request',
  encodeRequest: (request) => ({
    header: { kind: 'batch' },
    parts: [Buffer.from(JSON.stringify(request))],
  }),
  decodeReply: ({ parts }) => JSON.parse(Buffer.concat(parts).toString()) as unknown,
}

/** A stub does not read it. */
const plan: ServingPlan = {
  role: 'heads',
  graphs: [],
  widths: { features: 0, text: 0, image: 0, gallery_index: 0 },
  heads: [],
}

describe('a session host', () => {
  test('sends requests and returns the replies, one after the other', async () => {
    const { host } = await open(stubProgram())
    expect(host).toMatchObject({ available: true, placements: [{ provider: 'stand-in' }] })
    const requests = [{ at: 1 }, 'x'.repeat(1_000_000), [1, 2]]
    expect(await Promise.all(requests.map((request) => host.run(request, 10_000)))).toEqual(requests)
  })

  test('logs what the process prints, without colours, and cuts what is long', async () => {
    const { lines } = await open(
      stubProgram(`console.error('\\x1b[1;31mone\\x1b[m'); console.log('x'.repeat(5000))`),
    )
    const expected = [
      'warn: the stand-in: one',
      `warn: the stand-in: ${'x'.repeat(1000)}`,
      'warn: the stand-in: some of its output was dropped',
    ]
    await vi.waitUntil(() => expected.every((line) => lines.includes(line)), { timeout: 10_000 })
  })

  test('logs 50 pieces of what a process prints without end, counts the rest, and the process serves', async () => {
    let droppedBytes = 0
    const onDropped = (message: unknown): void => void (droppedBytes += (message as OutputDropped).bytes)
    outputDroppedChannel.subscribe(onDropped)
    onTestFinished(() => {
      outputDroppedChannel.unsubscribe(onDropped)
    })
    const bytes = 20_000_000
    const { host, lines } = await open(
      stubProgram(`for (let i = 0; i < 20; i++) writeSync(1, Buffer.alloc(${bytes / 20}, 'x'))`),
    )
    expect(await host.run('still there', 10_000)).toBe('still there')
    await host.close()
    const logged = (): string[] => lines.filter((line) => line.includes('xxx'))
    const loggedBytes = (): number =>
      logged().reduce((sum, line) => sum + line.length - 'warn: the stand-in: '.length, 0)
    await vi.waitUntil(() => droppedBytes + loggedBytes() === bytes, { timeout: 10_000 })
    expect(logged().length).toBeGreaterThanOrEqual(50)
    expect(Math.max(...logged().map((line) => line.length))).toBe('warn: the stand-in: '.length + 1000)
    expect(lines.filter((line) => line.includes('dropped')).length).toBeLessThanOrEqual(
      Math.ceil(logged().length / 50),
    )
  })

  test('replaces a process that sends anything but messages', async () => {
    const { host, children } = await open(stubProgram())
    await expectModelError(
      host.run('print', 10_000),
      /process of the stand-in sent an invalid message: "something went wrong.*" is not a message/,
    )
    await vi.waitUntil(() => host.available, { timeout: 30_000 })
    expect(children).toHaveLength(2)
  })

  test('replaces a process that truncates the file of payloads, and serves the next batch', async () => {
    const { host, children } = await open(stubProgram())
    await expectModelError(
      host.run('cut', 10_000),
      /sent an invalid message: the file of payloads ends after 2 of 5 bytes/,
    )
    await vi.waitUntil(() => host.available, { timeout: 30_000 })
    expect(children).toHaveLength(2)
    expect(await host.run('next', 10_000)).toBe('next')
  })

  test('doubles the delay before a restart while no batch succeeds', async () => {
    const { host, waits } = await open(stubProgram())
    for (let i = 0; i < 3; i++) {
      await vi.waitUntil(() => host.available, { timeout: 30_000 })
      await expectModelError(host.run('exit', 10_000), /the process of the stand-in exited with code 7/)
    }
    expect(waits).toEqual([100, 200, 400])
    await vi.waitUntil(() => host.available, { timeout: 30_000 })
    await host.run('a batch that succeeds', 10_000)
    await expectModelError(host.run('exit', 10_000), /exited with code 7/)
    expect(waits.at(-1)).toBe(100)
  })

  test('neither reports nor replaces a process that is closed while it starts again', async () => {
    const programs = ['', 'await new Promise(() => setInterval(() => 0, 1000))']
    const { host, children, lines } = await open((options) => stubProgram(programs.shift())(options))
    await expectModelError(host.run('exit', 10_000), /exited with code 7/)
    await vi.waitUntil(() => children.length === 2, { timeout: 30_000 })
    const { length } = lines
    await host.close()
    await vi.waitUntil(() => children[1]?.signalCode === 'SIGKILL', { timeout: 30_000 })
    await nextTurn()
    expect(lines.slice(length)).toEqual([])
  })

  test('does not accumulate processes that cannot be ended: after two, it starts none until one is gone', async () => {
    const { host, children, lines } = await open((options) =>
      Object.assign(stubProgram()(options), { kill: () => true }),
    )
    for (let i = 0; i < 2; i++) {
      await vi.waitUntil(() => host.available, { timeout: 30_000 })
      await expectModelError(host.run('hang', 1), /a request took longer than its time limit of 1 ms/)
    }
    const refusal = 'error: the stand-in is down: 2 processes of the stand-in were killed but have not exited'
    await vi.waitUntil(() => lines.includes(refusal), { timeout: 30_000 })
    expect(children).toHaveLength(2)
    end(children[0]!)
    await vi.waitUntil(() => host.available, { timeout: 30_000 })
    expect(children).toHaveLength(3)
    for (const child of children) end(child)
  })

  test.each<[string, (options: SpawnOptions) => ChildProcess, RegExp]>([
    ['cannot be started', (options) => spawn('/nowhere/node', options), /cannot be started: spawn .* ENOENT/],
    [
      'finds no memory',
      () => refuse('spawn ENOMEM'),
      /the process of the stand-in cannot be started: spawn ENOMEM/,
    ],
    ['ends at its start', stubProgram('process.exit(7)'), /the process of the stand-in exited with code 7/],
    [
      'reports that it cannot serve',
      stubProgram(`send({ kind: 'failed', reason: 'no such device' })`),
      /^no such device$/,
    ],
  ])('is not opened when its first process %s', async (_, start, message) => {
    await expectModelError(open(start), message)
  })

  test('is not opened when the load is cancelled, and the process is gone then', async () => {
    const cancelling = new AbortController()
    const children: ChildProcess[] = []
    const start = (options: SpawnOptions) => kept(children, stubProgram()(options))
    const warmUp: Options['warmUp'] = async (run) => {
      const hanging = run('hang')
      cancelling.abort()
      await hanging
    }
    await expectModelError(open(start, { warmUp, signal: cancelling.signal }), /^the load was cancelled$/)
    expect(children.map(({ signalCode }) => signalCode)).toEqual(['SIGKILL'])
    await expectModelError(open(start, { signal: cancelling.signal }), /^the load was cancelled$/)
    expect(children).toHaveLength(1)
  })

  test('is not opened when the first run of a graph takes longer than its time limit', async () => {
    const hanging = stubProgram(
      `send({ kind: 'opened' }); await new Promise(() => setInterval(() => 0, 1000))`,
    )
    await expectModelError(
      open(hanging, { warmUpMsMax: 200 }),
      /the first run of the stand-in took longer than its time limit of 200 ms/,
    )
    const warmUp: Options['warmUp'] = async (run) => {
      await run('hang')
    }
    await expectModelError(
      open(stubProgram(), { warmUpMsMax: 200, warmUp }),
      /a request took longer than its time limit of 200 ms/,
    )
  })

  test('is not opened when a batch of the warm-up fails, and the process is gone then', async () => {
    const children: ChildProcess[] = []
    const start = (options: SpawnOptions) => kept(children, stubProgram()(options))
    const warmUp: Options['warmUp'] = async (run) => {
      await run('a batch that succeeds')
      throw new ModelError('its vectors are not finite')
    }
    await expectModelError(open(start, { warmUp }), /its vectors are not finite/)
    expect(children.map(({ signalCode }) => signalCode)).toEqual(['SIGKILL'])
  })
})

type Options = HostOptions<unknown, unknown>

async function open(start: (options: SpawnOptions) => ChildProcess, more: Partial<Options> = {}) {
  const children: ChildProcess[] = []
  const lines: string[] = []
  const waits: number[] = []
  const at = (level: string) => (fields: object, message: string) => {
    lines.push(`${level}: ${message}`)
    if ('restartMs' in fields) waits.push(fields.restartMs as number)
  }
  startStub = (options) => kept(children, start(options))
  const host = await SessionHost.open<unknown, unknown>({
    name: 'the stand-in',
    plan,
    format,
    bytesMax: Infinity,
    log: { ...silentLog, info: at('info'), warn: at('warn'), error: at('error') },
    ...more,
  })
  onTestFinished(() => host.close())
  return { host, children, lines, waits }
}

/** A process that replies to each request with the request, except for commands such as 'exit', after it has run `first`. */
function stubProgram(first = ''): (options: SpawnOptions) => ChildProcess {
  const messages = new URL('../../../dist/model/sessions/messages.js', import.meta.url)
  const code = `
    const { ChildMessages } = await import(${JSON.stringify(messages.href)})
    const { ftruncateSync, writeSync } = await import('node:fs')
    const messages = new ChildMessages(3, 4)
    const send = (header) => messages.write({ header, parts: [] })
    messages.next()
    ${first}
    const placements = [{ file: '', provider: 'stand-in', refused: [], nodes: null }]
    send({ kind: 'ready', placements, ports: [{ inputs: [], outputs: [] }] })
    for (let message = messages.next(); message !== null; message = messages.next()) {
      const [part] = message.parts
      const request = JSON.parse(Buffer.from(part).toString())
      if (request === 'exit') process.exit(7)
      if (request === 'print') writeSync(3, 'something went wrong')
      if (request === 'hang') continue
      if (request === 'cut') {
        ftruncateSync(4, 2)
        writeSync(3, JSON.stringify({ kind: 'done', lengths: [part.length] }) + '\\n')
        continue
      }
      messages.write({ header: { kind: 'done' }, parts: [part] })
    }`
  return (options) => spawn(process.execPath, ['--input-type=module', '-e', code], options)
}

function refuse(reason: string): never {
  throw new Error(reason)
}

function kept(children: ChildProcess[], child: ChildProcess): ChildProcess {
  children.push(child)
  return child
}

/** Kills a child that takes no signal from its parent. */
function end(child: ChildProcess): void {
  if (child.exitCode === null && child.signalCode === null) process.kill(child.pid!, 'SIGKILL')
}

async function expectModelError(call: Promise<unknown>, message: RegExp): Promise<void> {
  const error: unknown = await call.catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(ModelError)
  expect((error as ModelError).message).toMatch(message)
}
