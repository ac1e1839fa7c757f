/** The spool: what it keeps, in which order it sends, and when it removes a cycle. */
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  constants,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { cycleBody, cycleMs } from '../../test/helpers/bodies.js'
import { FaultyServer, type Step } from '../../test/helpers/faulty-server.js'
import { openFilesIn } from '../../test/helpers/open-files.js'
import { openLocked } from '../base/flock.js'
import { hourMs } from '../base/units.js'
import { bodyExamples, errorTable, type CycleRequest, type CycleResponse } from '../contract/index.js'
import { Client, isFutureRefusal, type ApiError } from './index.js'
import { DirectoryLockedError, Spool, type SpoolOptions } from './spool.js'

const [first, second, third] = [0, 1, 2].map((index) => cycleBody(index)) as [
  CycleRequest,
  CycleRequest,
  CycleRequest,
]

/** The entries of the directory, but for the one of its schema. */
const files = (): string[] => readdirSync(directory).filter((name) => name !== 'spool.json')

let parent: string
let directory: string
let responses: string[]
let warnings: string[]
let spools: Spool[]
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'understudy-spool-'))
  directory = join(parent, 'spool')
  responses = []
  warnings = []
  spools = []
})
afterEach(async () => {
  for (const spool of spools) await spool.close()
  rmSync(parent, { recursive: true, force: true })
})

const responseTo = ({ cycle_id }: CycleRequest): Step => ({
  body: { ...bodyExamples.CycleResponse, cycle_id },
})
/** Uses the contract's code for the status. */
const refusal = (status: number, more: object = {}): Step => {
  const { code } = Object.values(errorTable).find((error) => error.status === status) ?? { code: 'other' }
  return { status, body: { error: { code, message: 'm', ...more } } }
}
const future = refusal(422, { fields: [{ path: 'cycle_time', problem: 'must not be in the future' }] })

async function open(server: FaultyServer, more: Partial<SpoolOptions> = {}): Promise<Spool> {
  const client = new Client({ url: await server.listen(), apiKey: 'key', retryTimeoutMs: 0 })
  const onResponse = ({ cycle_id }: CycleResponse): void => void responses.push(cycle_id)
  const onWarning = (message: string): void => void warnings.push(message)
  const spool = await Spool.open({ client, directory, onResponse, onWarning, ...more })
  spools.push(spool)
  return spool
}

test('a cycle is on disk before its first attempt and until its response has been handled', async () => {
  let onDisk: string[] = []
  const server = new FaultyServer(responseTo(first))
  const spool = await open(server, { onResponse: () => void (onDisk = files()) })
  await spool.add(first)
  expect([server.attemptCount, await spool.cycleIds()]).toEqual([0, [first.cycle_id]])
  expect(openFilesIn(directory)).toEqual([])
  expect(readFileSync(join(directory, `${first.cycle_id}.json`), 'utf8')).toBe(JSON.stringify(first))
  await spool.deliver()
  expect(onDisk).toEqual([`${first.cycle_id}.json`])
  expect(files()).toEqual([])
})

test('a new spool sends the cycles that an earlier one left in the directory, the oldest first, with the same bodies', async () => {
  const lost = new FaultyServer('after')
  const spool = await open(lost)
  for (const cycle of [second, first]) await spool.add(cycle)
  await expect(spool.deliver()).rejects.toMatchObject({ name: 'ConnectionError' })
  await spool.close()
  expect(lost.attemptCount).toBe(1)

  const server = new FaultyServer(responseTo(first), responseTo(second), responseTo(third))
  const next = await open(server)
  await next.add(third)
  await next.deliver()
  expect(responses).toEqual([first, second, third].map((cycle) => cycle.cycle_id))
  expect(server.received[0]?.body).toEqual(lost.received[0]?.body)
  expect(server.received.map(({ body }) => body.toString())).toEqual(
    [first, second, third].map((cycle) => JSON.stringify(cycle)),
  )
})

test.each([400, 409, 413, 422])(
  'after %s a cycle is renamed to `.rejected`, and the next one is sent',
  async (status) => {
    const rejected: [string, ApiError][] = []
    const server = new FaultyServer(refusal(status), responseTo(second))
    const spool = await open(server, { onRejected: (...args) => void rejected.push(args) })
    for (const cycle of [first, second]) await spool.add(cycle)
    await spool.deliver()
    expect(rejected).toMatchObject([[first.cycle_id, { status }]])
    expect([responses, await spool.cycleIds()]).toEqual([[second.cycle_id], []])
    expect(files()).toEqual([`${first.cycle_id}.json.rejected`])
  },
)

test.each<[string, Step]>([
  ['401', refusal(401)],
  ['404', refusal(404)],
  ['a refusal for the future', future],
  ['a 400 of a gateway', { status: 400, body: { error: { code: 'invalid_request', message: 'm' } } }],
  ['a 409 of a gateway', { status: 409, body: { error: { code: '409', message: 'm' } } }],
  ['a 413 of a proxy', { status: 413, headers: { 'Content-Type': 'text/html' }, body: '<p>' }],
  ['a 422 of a gateway', { status: 422, body: { error: { code: 'unprocessable' } } }],
  ['a 500 of a proxy', { status: 500, headers: { 'Content-Type': 'text/html' }, body: '<p>' }],
  ['an empty object with status 200', { body: {} }],
  ['415', refusal(415)],
  ['503', refusal(503)],
  ['an error page', { status: 404, headers: { 'Content-Type': 'text/html' }, body: '<p>' }],
  ['a page with status 200', { headers: { 'Content-Type': 'text/html' }, body: '<p>' }],
  ['the response to another cycle', responseTo(third)],
  ['no response', 'after'],
])('after %s all cycles stay, and no other is sent', async (_what, step) => {
  const server = new FaultyServer(step)
  const spool = await open(server, { futureMsMax: Infinity })
  for (const cycle of [first, second]) await spool.add(cycle)
  await expect(spool.deliver()).rejects.toThrow()
  expect([server.attemptCount, responses, (await spool.cycleIds()).length]).toEqual([1, [], 2])
})

test('after a 500, which may concern one cycle only, the later ones are sent', async () => {
  const spool = await open(new FaultyServer(refusal(500), responseTo(second)))
  for (const cycle of [first, second]) await spool.add(cycle)
  await expect(spool.deliver()).rejects.toMatchObject({ status: 500 })
  expect([responses, await spool.cycleIds()]).toEqual([[second.cycle_id], [first.cycle_id]])
})

test('if the response cannot be stored, the cycle stays', async () => {
  const onResponse = (): Promise<void> => Promise.reject(new Error('disk full'))
  const spool = await open(new FaultyServer(responseTo(first)), { onResponse })
  await spool.add(first)
  await expect(spool.deliver()).rejects.toThrow('disk full')
  expect(await spool.cycleIds()).toEqual([first.cycle_id])
})

test('a cycle may be added again, and not with another body', async () => {
  const spool = await open(new FaultyServer(responseTo(first)))
  await spool.add(first)
  await spool.add(structuredClone(first))
  const other = { ...first, removals: [{ gall_id: 'g' }] } as CycleRequest
  await expect(spool.add(other)).rejects.toThrow(`the spool has cycle ${first.cycle_id} with another body`)
})

test('a cycle_id that is not an id cannot leave the directory', async () => {
  const spool = await open(new FaultyServer(responseTo(first)))
  await expect(spool.add({ ...first, cycle_id: '../x' })).rejects.toThrow(TypeError)
})

test('interrupted writes are removed when the spool is opened, and other files are left alone', async () => {
  mkdirSync(directory)
  for (const name of [`${first.cycle_id}.json.partial`, `${second.cycle_id}.json.rejected`, 'notes.txt'])
    writeFileSync(join(directory, name), '{"half')
  writeFileSync(join(directory, 'package.json'), '{"type":"module"}')
  mkdirSync(join(directory, 'lost+found'))
  const spool = await open(new FaultyServer(responseTo(first)))
  expect(files()).toEqual([`${second.cycle_id}.json.rejected`, 'lost+found', 'notes.txt', 'package.json'])
  expect([await spool.cycleIds(), warnings]).toEqual([[], []])
})

describe('while the clock of the service is behind', () => {
  test('a cycle and those after it stay, and are delivered in order with the same bytes later', async () => {
    const rejected: string[] = []
    const server = new FaultyServer(future, future, responseTo(first), responseTo(second))
    const onRejected = (cycleId: string): void => void rejected.push(cycleId)
    const spool = await open(server, { onRejected, futureMsMax: Infinity })
    for (const cycle of [first, second]) await spool.add(cycle)
    for (let attempt = 0; attempt < 2; attempt++)
      await expect(spool.deliver()).rejects.toMatchObject({ kind: 'unprocessable', status: 422 })
    expect(files()).toEqual([`${first.cycle_id}.json`, `${second.cycle_id}.json`])
    await spool.deliver()
    expect([responses, rejected]).toEqual([[first.cycle_id, second.cycle_id], []])
    expect(server.received.map(({ body }) => body.toString())).toEqual(
      [first, first, first, second].map((cycle) => JSON.stringify(cycle)),
    )
  })

  test('one call of `deliver` waits for the service', async () => {
    const server = new FaultyServer(future, future, future, responseTo(first))
    const client = new Client({
      url: await server.listen(),
      apiKey: 'key',
      backoffMsFirst: 1,
      backoffMsMax: 2,
    })
    const spool = await open(new FaultyServer('after'), { client })
    await spool.add(first)
    await spool.deliver()
    expect(responses).toEqual([first.cycle_id])
  })

  test.each([
    ['more than 24 hours old', 24 * hourMs + 1, {}, true],
    ['exactly 24 hours old', 24 * hourMs, {}, false],
    ['more than 24 hours ahead, after the clock was set back,', -24 * hourMs - 1, {}, true],
    ['24 hours ahead', -24 * hourMs, {}, false],
    ['older than `futureMsMax`', hourMs + 1, { futureMsMax: hourMs }, true],
  ])('a cycle that is %s is rejected or stays', async (_what, ageMs, options, isRejected) => {
    vi.spyOn(Date, 'now').mockReturnValue(cycleMs(0) + ageMs)
    onTestFinished(() => void vi.restoreAllMocks())
    const rejected: string[] = []
    const spool = await open(new FaultyServer(future), {
      ...options,
      onRejected: (cycleId) => void rejected.push(cycleId),
    })
    await spool.add(first)
    const outcome = await spool.deliver().catch((error: unknown) => error)
    expect(isFutureRefusal(outcome)).toBe(!isRejected)
    expect(rejected).toEqual(isRejected ? [first.cycle_id] : [])
    expect(files()).toEqual([`${first.cycle_id}.json${isRejected ? '.rejected' : ''}`])
  })
})

describe('what cannot be sent is set aside with a warning, and the cycles after it are delivered:', () => {
  const name = `${first.cycle_id}.json`
  const json = JSON.stringify(first)

  test.each<[string, (path: string) => void, string]>([
    ['half a file', (path) => writeFileSync(path, json.slice(0, 40)), 'it is damaged: it is not JSON'],
    ['an empty file', (path) => writeFileSync(path, ''), 'it is damaged: it is not JSON'],
    ['zeros', (path) => writeFileSync(path, Buffer.alloc(json.length)), 'it is damaged: it is not JSON'],
    [
      'bytes that are no text',
      (path) => writeFileSync(path, json.replace('"', '"\xff'), 'latin1'),
      'it is damaged',
    ],
    [
      'another cycle',
      (path) => writeFileSync(path, JSON.stringify(third)),
      `it contains cycle ${third.cycle_id}`,
    ],
    ['JSON without a cycle', (path) => writeFileSync(path, '[]'), 'it does not contain a cycle'],
    ['a directory', (path) => mkdirSync(join(path, 'inner'), { recursive: true }), 'it cannot be read'],
  ])('%s', async (_what, make, problem) => {
    mkdirSync(directory)
    make(join(directory, name))
    const spool = await open(new FaultyServer(responseTo(second)))
    await spool.add(second)
    await spool.deliver()
    expect(responses).toEqual([second.cycle_id])
    expect(files()).toEqual([`${name}.set-aside`])
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toContain(`${join(directory, name)} is not sent, because ${problem}`)
    expect(warnings[0]).toContain(`it is now ${name}.set-aside`)
  })

  test('a file under a name that others were set aside from, each of which stays', async () => {
    mkdirSync(directory)
    for (const kept of ['', '-2', '-3']) writeFileSync(join(directory, `${name}.set-aside${kept}`), kept)
    writeFileSync(join(directory, name), '4')
    const spool = await open(new FaultyServer(responseTo(second)))
    await spool.deliver()
    const contents = (): string[] =>
      files()
        .sort()
        .map((file) => readFileSync(join(directory, file), 'utf8'))
    expect(contents()).toEqual(['', '-2', '-3', '4'])
    expect(files()).toContain(`${name}.set-aside-4`)
  })

  test('what is in the place of a cycle that is added', async () => {
    const spool = await open(new FaultyServer(responseTo(first)))
    writeFileSync(join(directory, name), json.slice(0, 40))
    await spool.add(first)
    expect(readFileSync(join(directory, name), 'utf8')).toBe(json)
    expect(files()).toEqual([name, `${name}.set-aside`])
  })

  test('nothing is overwritten: each file gets a name of its own', async () => {
    const spool = await open(new FaultyServer(refusal(400)))
    for (const half of ['{"a', '{"b']) {
      writeFileSync(join(directory, name), half)
      await spool.deliver()
    }
    for (const cycle of [first, { ...first, note: 'changed' }]) {
      await spool.add(cycle)
      await spool.deliver()
    }
    const names = ['rejected', 'rejected-2', 'set-aside', 'set-aside-2'].map((suffix) => `${name}.${suffix}`)
    expect(files()).toEqual(names)
    const texts = names.map((one) => readFileSync(join(directory, one), 'utf8'))
    expect(texts).toEqual([json, JSON.stringify({ ...first, note: 'changed' }), '{"a', '{"b'])
  })

  // Root reads every file.
  test.skipIf(process.getuid?.() === 0)('a file of another user', async () => {
    const spool = await open(new FaultyServer(responseTo(second)))
    for (const cycle of [first, second]) await spool.add(cycle)
    chmodSync(join(directory, name), 0)
    await spool.deliver()
    expect([responses, warnings.length]).toEqual([[second.cycle_id], 1])
  })
})

test('without `onWarning`, a warning of the process names the file', async () => {
  mkdirSync(join(directory, `${first.cycle_id}.json`), { recursive: true })
  const { promise, resolve } = Promise.withResolvers<string>()
  process.once('warning', ({ message }) => resolve(message))
  const client = new Client({ url: 'http://localhost', apiKey: 'key' })
  const spool = await Spool.open({ client, directory, onResponse: () => undefined })
  spools.push(spool)
  await spool.deliver()
  expect(await promise).toContain(join(directory, `${first.cycle_id}.json`))
})

test('a cycle that an operator removes during a delivery is not sent', async () => {
  const server = new FaultyServer(responseTo(first), responseTo(third))
  const onResponse = ({ cycle_id }: CycleResponse): void => {
    responses.push(cycle_id)
    rmSync(join(directory, `${second.cycle_id}.json`), { force: true })
  }
  const spool = await open(server, { onResponse })
  for (const cycle of [first, second, third]) await spool.add(cycle)
  await spool.deliver()
  expect(responses).toEqual([first.cycle_id, third.cycle_id])
})

describe('a directory', () => {
  const isLocked = (): boolean => spawnSync('flock', ['-n', directory, 'true']).status === 1

  test('has one spool at a time, also of one process, until that is closed', async () => {
    const spool = await open(new FaultyServer('after'))
    await expect(open(new FaultyServer('after'))).rejects.toThrow(DirectoryLockedError)
    expect(isLocked()).toBe(true)
    await spool.close()
    await spool.close()
    expect(isLocked()).toBe(false)
    await (await open(new FaultyServer('after'))).add(first)
  })

  test('under another name is the same one', async () => {
    await open(new FaultyServer('after'))
    symlinkSync(directory, join(parent, 'link'))
    await expect(open(new FaultyServer('after'), { directory: join(parent, 'link') })).rejects.toThrow(
      `the directory ${join(parent, 'link')} is in use by another spool`,
    )
  })

  test('that another process has locked can be opened when it is free again', async () => {
    mkdirSync(directory)
    const lock = await openLocked(directory, constants.O_RDONLY | constants.O_DIRECTORY)
    await expect(open(new FaultyServer('after'))).rejects.toThrow(DirectoryLockedError)
    closeSync(lock)
    await (await open(new FaultyServer('after'))).add(first)
  })

  test('says which schema it has', async () => {
    await open(new FaultyServer('after'))
    expect(readFileSync(join(directory, 'spool.json'), 'utf8')).toBe('{"schema":1}\n')
  })

  test('of the first previews, which does not, has the same schema', async () => {
    mkdirSync(directory)
    writeFileSync(join(directory, `${first.cycle_id}.json`), JSON.stringify(first))
    const spool = await open(new FaultyServer(responseTo(first)))
    await spool.deliver()
    expect(responses).toEqual([first.cycle_id])
    expect(readdirSync(directory)).toEqual(['spool.json'])
  })

  test.each([
    ['{"schema":2}', '2'],
    ['{"schema":"1"}', '"1"'],
    ['{}', 'unknown'],
    ['', 'unknown'],
  ])('of another schema, %j, is refused, and left as it is', async (text, stored) => {
    mkdirSync(directory)
    writeFileSync(join(directory, 'spool.json'), text)
    writeFileSync(join(directory, `${first.cycle_id}.json.partial`), '{"half')
    await expect(open(new FaultyServer('after'))).rejects.toThrow(
      `the spool ${directory} has schema ${stored}, and this client reads 1: deliver its cycles with the client that ` +
        'wrote them, or use another directory',
    )
    expect(files()).toEqual([`${first.cycle_id}.json.partial`])
    expect(readFileSync(join(directory, 'spool.json'), 'utf8')).toBe(text)
    expect(isLocked()).toBe(false)
  })
})

test('cycles that are added at the same time are all written, one after the other', async () => {
  const spool = await open(new FaultyServer(responseTo(first), responseTo(second)))
  await Promise.all([first, second, first, second].map((cycle) => spool.add(cycle)))
  await Promise.all([spool.deliver(), spool.deliver()])
  expect(responses).toEqual([first.cycle_id, second.cycle_id])
})

test('concurrent deliveries send each cycle once', async () => {
  const server = new FaultyServer(responseTo(first), responseTo(second))
  const spool = await open(server)
  await spool.add(first)
  const early = spool.deliver()
  await spool.add(second)
  await Promise.all([early, spool.deliver(), spool.deliver()])
  expect([server.attemptCount, responses]).toEqual([2, [first.cycle_id, second.cycle_id]])
})
