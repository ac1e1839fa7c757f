/**
 * The life of session processes, with stand-ins that do what a broken driver or library would. Real graphs, and real
 * crashes, are in loaded-model.test.ts.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { ModelError } from '../model.js'
import { followChild } from '../processes/index.js'
import { plainCourier } from './courier.js'
import type { ProgramPlan } from './protocol.js'
import { SessionHost, type HostOptions } from './session-host.js'

/** Never looked at by a stand-in. */
const plan: ProgramPlan = { role: 'heads', graphs: [], featureCount: 0, textDim: 0, imageDim: 0, heads: [] }

describe('a session host', () => {
  test('hands requests over and replies back, one after the other', async () => {
    const { host } = await open(standIn())
    expect(host).toMatchObject({ available: true, provider: 'stand-in' })
    const requests = [{ at: 1 }, new Float32Array(100_000).fill(0.5), [Uint8Array.of(1, 2)]]
    expect(await Promise.all(requests.map((request) => host.run(request, 10_000)))).toEqual(requests)
  })

  test('logs what the process prints, line by line, and no more of a line than anyone reads', async () => {
    const { lines } = await open(
      standIn(`console.error('\\x1b[1;31mone\\x1b[m\\ntwo'); console.log('x'.repeat(5000))`),
    )
    const expected = [
      'warn: the stand-in: one',
      'warn: the stand-in: two',
      `warn: the stand-in: ${'x'.repeat(1000)}`,
    ]
    await vi.waitUntil(() => expected.every((line) => lines.includes(line)), { timeout: 10_000 })
  })

  test('replaces a process whose pipe carries anything but messages', async () => {
    const { host, children } = await open(standIn())
    await expectModelError(
      host.run('print', 10_000),
      /process of the stand-in cannot be understood: "something went wrong.*" begins no message/,
    )
    await vi.waitUntil(() => host.available, { timeout: 30_000 })
    expect(children).toHaveLength(2)
  })

  test('waits longer and longer for a process that serves no batch', async () => {
    const { host, waits } = await open(standIn())
    for (let i = 0; i < 3; i++) {
      await vi.waitUntil(() => host.available, { timeout: 30_000 })
      await expectModelError(host.run('exit', 10_000), /the process of the stand-in ended with code 7/)
    }
    expect(waits).toEqual([100, 200, 400])
    await vi.waitUntil(() => host.available, { timeout: 30_000 })
    await host.run('a batch that goes well', 10_000)
    await expectModelError(host.run('exit', 10_000), /ended with code 7/)
    expect(waits.at(-1)).toBe(100)
  })

  test('does not pile up processes that cannot be ended: after two, none is started until one is gone', async () => {
    const { host, children, lines } = await open(() => Object.assign(standIn()(), { kill: () => true }))
    for (let i = 0; i < 2; i++) {
      await vi.waitUntil(() => host.available, { timeout: 30_000 })
      await expectModelError(host.run('hang', 1), /a request took longer than its time limit of 1 ms/)
    }
    const refusal = 'error: the stand-in is down: 2 processes of the stand-in were killed and are not gone'
    await vi.waitUntil(() => lines.includes(refusal), { timeout: 30_000 })
    expect(children).toHaveLength(2)
    end(children[0]!)
    await vi.waitUntil(() => host.available, { timeout: 30_000 })
    expect(children).toHaveLength(3)
    for (const child of children) end(child)
  })

  test.each<[string, () => ChildProcess, RegExp]>([
    [
      'cannot be started',
      () => spawn('/nowhere/node', { stdio: stdio() }),
      /cannot be started: spawn .* ENOENT/,
    ],
    [
      'finds no room',
      () => refuse('spawn ENOMEM'),
      /the process of the stand-in cannot be started: spawn ENOMEM/,
    ],
    ['ends at its start', standIn('process.exit(7)'), /the process of the stand-in ended with code 7/],
    [
      'says that it cannot serve',
      standIn(`say({ kind: 'failed', reason: 'no such device' })`),
      /^no such device$/,
    ],
  ])('is not opened when its first process %s', async (_, start, message) => {
    await expectModelError(open(start), message)
  })

  test('is not opened when all ends meanwhile, and the process is gone then', async () => {
    const ending = new AbortController()
    const children: ChildProcess[] = []
    const start = () => kept(children, standIn()())
    const warmUp: Options['warmUp'] = async (process) => {
      const hanging = process.run('hang', 60_000)
      ending.abort()
      await hanging
    }
    await expectModelError(open(start, { warmUp, ended: ending.signal }), /^the service ends$/)
    expect(children.map(({ signalCode }) => signalCode)).toEqual(['SIGKILL'])
    await expectModelError(open(start, { ended: ending.signal }), /^the service ends$/)
    expect(children).toHaveLength(1)
  })

  test('is not opened when a batch of the warm-up fails, and the process is gone then', async () => {
    const children: ChildProcess[] = []
    const start = () => kept(children, standIn()())
    const warmUp: Options['warmUp'] = async (process) => {
      await process.run('a batch that goes well', 10_000)
      throw new ModelError('its vectors are not finite')
    }
    await expectModelError(open(start, { warmUp }), /its vectors are not finite/)
    expect(children.map(({ signalCode }) => signalCode)).toEqual(['SIGKILL'])
  })
})

type Options = HostOptions<unknown, unknown>

async function open(start: () => ChildProcess, more: Partial<Options> = {}) {
  const children: ChildProcess[] = []
  const lines: string[] = []
  const waits: number[] = []
  const at = (level: string) => (fields: object, message: string) => {
    lines.push(`${level}: ${message}`)
    if ('restartMs' in fields) waits.push(fields.restartMs as number)
  }
  const host = await SessionHost.open<unknown, unknown>({
    name: 'the stand-in',
    plan,
    openCourier: plainCourier,
    describe: () => 'a request',
    bytesMax: Infinity,
    log: { info: at('info'), warn: at('warn'), error: at('error') },
    startChild: () => followChild(kept(children, start())),
    ...more,
  })
  onTestFinished(() => host.close())
  return { host, children, lines, waits }
}

/** A process that answers each request with the request, and some as they say, after `first` was run. */
function standIn(first = ''): () => ChildProcess {
  const frames = new URL('../../../dist/model/sessions/frames.js', import.meta.url)
  const code = `
    const { BlockingFrames } = await import(${JSON.stringify(frames.href)})
    const { writeSync } = await import('node:fs')
    const frames = new BlockingFrames(3)
    const say = (message) => frames.write(message, 'clone')
    frames.next()
    ${first}
    say({ kind: 'ready', provider: 'stand-in' })
    for (let frame = frames.next(); frame !== null; frame = frames.next()) {
      const { request } = frame.value
      if (request === 'exit') process.exit(7)
      if (request === 'print') writeSync(3, 'something went wrong')
      if (request !== 'hang') say({ kind: 'done', reply: request })
    }`
  return () => spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: stdio() })
}

function refuse(reason: string): never {
  throw new Error(reason)
}

function stdio(): 'pipe'[] {
  return ['pipe', 'pipe', 'pipe', 'pipe']
}

function kept(children: ChildProcess[], child: ChildProcess): ChildProcess {
  children.push(child)
  return child
}

/** Of a child that takes no signal from its owner. */
function end(child: ChildProcess): void {
  if (child.exitCode === null && child.signalCode === null) process.kill(child.pid!, 'SIGKILL')
}

async function expectModelError(call: Promise<unknown>, message: RegExp): Promise<void> {
  const error: unknown = await call.catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(ModelError)
  expect((error as ModelError).message).toMatch(message)
}
