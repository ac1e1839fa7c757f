/**
 * Clients that disconnect: at each point where an operation waits, and at each of many turns of the event loop. Whatever
 * the moment, nothing that the call has acquired stays acquired, and the same call succeeds afterwards.
 */
import { gzipSync } from 'node:zlib'
import pino from 'pino'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { bytesOf, candidate, cycleBody, cycleMs, reading } from '../../test/helpers/bodies.js'
import { FakeExchange, type FakeCall } from '../../test/helpers/fake-exchange.js'
import { FakeModel } from '../../test/helpers/fake-model.js'
import { smallJpeg } from '../../test/harness/jpeg.js'
import { poisonBodies } from '../../test/helpers/poison.js'
import { mebibyte } from '../base/index.js'
import { CycleService } from '../cycle/index.js'
import { ImageSemaphore } from '../images/index.js'
import { createMemoryStore, type Store } from '../store/index.js'
import type { Settings } from '../settings/index.js'
import { ApiKeys } from './api-keys.js'
import { BodyMemory, GrowingBytes } from './body.js'
import type { EndedRequest } from './exchange.js'
import { heldResources, type HeldResources } from './held-resources.js'
import { ImageUploads } from './image-uploads.js'
import { RequestHandler } from './request-handler.js'

const authorization = 'key-of-these-tests-0123456789'
const weights = { views: 1, comments: 0, up: 0, downvote_share: 0 }
const nowMs = cycleMs(1e6)

// A call that reads its body after the release fails or stores garbage.
poisonBodies(GrowingBytes)

/** Waits of the operations: each is passed, or held until the test passes it. */
class Gate {
  #left = Infinity
  #open: (() => void)[] = []

  /** The first `count` waits pass, the others are held until `open`. */
  holdAfter(count: number): void {
    this.#left = count
  }

  open(): void {
    this.#left = Infinity
    for (const pass of this.#open.splice(0)) pass()
  }

  async pass(): Promise<void> {
    if (this.#left-- > 0) return
    await new Promise<void>((resolve) => this.#open.push(resolve))
  }

  get isHolding(): boolean {
    return this.#open.length > 0
  }

  /** An object whose asynchronous methods wait at the gate before and after their work. */
  around<Part extends object>(part: Part): Part {
    return new Proxy(part, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target)
        if (typeof member !== 'function') return member
        return (...args: unknown[]): unknown => {
          const result: unknown = Reflect.apply(member, target, args)
          if (!(result instanceof Promise)) return result
          return this.#around(result as Promise<unknown>)
        }
      },
    })
  }

  async #around(result: Promise<unknown>): Promise<unknown> {
    result.catch(() => undefined)
    await this.pass()
    const value: unknown = await result
    await this.pass()
    return value
  }
}

let gate: Gate
let logged: { msg: string; cycle_id?: string; status?: unknown }[]
let ended: EndedRequest[]
let handler: RequestHandler
let store: Store
let held: () => HeldResources

beforeEach(async () => {
  gate = new Gate()
  logged = []
  ended = []
  const log = pino(
    { level: 'info' },
    { write: (line) => void logged.push(JSON.parse(line) as { msg: string }) },
  )
  store = gate.around<Store>(createMemoryStore())
  const fake = gate.around(new FakeModel())
  const [model, clock] = [() => fake, () => nowMs]
  const cycles = await CycleService.open({
    store,
    model,
    clock,
    log,
    textEncodeMsMax: 1000,
    limits: () => ({ clockSkewMs: 2000, cyclesWaitingMax: 4, pendingPostsMax: 200_000 }),
    initialWeights: { version: 'initial', weights },
  })
  const bodies = new BodyMemory(1e9)
  const imageSemaphore = new ImageSemaphore(Infinity)
  const images = new ImageUploads(store, imageSemaphore, (image) => cycles.imageStored(image))
  const settings = (): Settings => ({ bodyReadMsMax: 60_000, clockSkewMs: 2000 }) as Settings
  handler = new RequestHandler({
    apiKeys: new ApiKeys([authorization]),
    bodies,
    log,
    operationParts: { cycles, images, store, model, clock, log, settings },
  })
  handler.observe((request) => void ended.push(request))
  held = () => heldResources({ bodies, handler, imageSemaphore })
})

/** A client's view of one call. */
class Client {
  readonly exchange: FakeExchange
  readonly #bodyBytes: number

  constructor(call: FakeCall) {
    this.exchange = new FakeExchange({ ...call, headers: { authorization, ...call.headers } })
    this.#bodyBytes = call.body?.length ?? 0
    handler.handle(this.exchange.response, this.exchange.request)
  }

  /** Sends the body in two parts, in turns of their own. */
  async send(): Promise<void> {
    const half = Math.ceil(this.#bodyBytes / 2)
    await turn()
    if (this.#bodyBytes > 1) this.exchange.deliver(0, half)
    await turn()
    this.exchange.deliver(this.#bodyBytes > 1 ? half : 0, this.#bodyBytes)
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

async function turns(count: number): Promise<void> {
  for (let passed = 0; passed < count; passed++) await turn()
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await turn()
}

async function statusOf(call: FakeCall): Promise<string> {
  const { exchange } = await sent(call)
  await until(() => exchange.ended)
  return exchange.status
}

async function sent(call: FakeCall): Promise<Client> {
  const client = new Client(call)
  await client.send()
  return client
}

function nothingHeld(): void {
  const { bytes, calls } = held()
  const isHeld = ([, number]: [string, number]): boolean => number !== 0
  expect([...Object.entries(bytes), ...Object.entries(calls)].filter(isHeld)).toEqual([])
}

const post = (body: Uint8Array, headers: Record<string, string> = {}): FakeCall => ({
  method: 'POST',
  path: '/v1/cycles',
  headers: { 'content-type': 'application/json', ...headers },
  body,
})

/** A cycle whose response is sent in pieces; a `text`, which the contract does not have, makes its body large. */
function cycle(index: number, text = ''): object {
  const posts = Array.from({ length: 200 }, (_, post) => post + 1)
  return {
    ...cycleBody(index, {
      candidates: index === 0 ? posts.map((post) => candidate('g', post)) : [],
      engagement: posts.map((post) => reading('g', post, cycleMs(index))),
    }),
    ...(text === '' ? {} : { text }),
  }
}

const large = 'x'.repeat(1_100_000)

/** Each operation as often as it is aborted, each time with its own cycle, post or version. */
const operations: Record<string, (index: number) => Promise<FakeCall> | FakeCall> = {
  'a new cycle': (index) => post(bytesOf(cycle(index))),
  'a large new cycle': (index) => post(bytesOf(cycle(index, large))),
  'a cycle in gzip': (index) => post(gzipSync(bytesOf(cycle(index))), { 'content-encoding': 'gzip' }),
  'a repeated cycle': () => post(bytesOf(cycle(0))),
  'a repeated cycle with other bytes': () => post(Buffer.from(JSON.stringify(cycle(0), null, 1))),
  'another body for a stored cycle': () => post(bytesOf(cycle(0, 'other'))),
  'a large other body for a stored cycle': () => post(bytesOf(cycle(0, large))),
  'a body that is not JSON': () => post(Buffer.from('{')),
  'stored scores': () => ({ method: 'GET', path: '/v1/scores/20240301T0000' }),
  'stored scores in gzip': () => ({
    method: 'GET',
    path: '/v1/scores/20240301T0000',
    headers: { 'accept-encoding': 'gzip' },
  }),
  'an image': async (index) => ({
    method: 'PUT',
    path: `/v1/images/g/${index + 1}/01`,
    headers: { 'content-type': 'image/jpeg' },
    body: await smallJpeg(index % 200),
  }),
  weights: (index) => ({
    method: 'PUT',
    path: '/v1/weights',
    body: bytesOf({ version: `v${index}`, weights: { ...weights, up: index + 1 } }),
  }),
  outcomes: () => ({ method: 'POST', path: '/v1/outcomes', body: bytesOf({ outcomes: [] }) }),
  'the weights in force': () => ({ method: 'GET', path: '/v1/weights' }),
  health: () => ({ method: 'GET', path: '/v1/health' }),
  'an unknown path': () => ({ method: 'GET', path: '/v1/nothing' }),
  'a call without a key': () => ({ method: 'GET', path: '/v1/weights', headers: { authorization: '' } }),
}
/** A new cycle, image or version is 200 or 201; the others have the status of the contract. */
const okPattern = /^(20[01] |$)/

const each = test.each(Object.entries(operations))

each(
  '%s: a client that disconnects at any point where the operation waits leaves nothing held',
  async (_, callOf) => {
    expect(await statusOf(post(bytesOf(cycle(0))))).toBe('200 OK')
    const expected = await statusOf(await callOf(1))
    let waits = 0
    for (let isHeld = true; isHeld; waits++) {
      const call = await callOf(waits + 2)
      gate.holdAfter(waits)
      const { exchange } = await sent(call)
      await until(() => gate.isHolding || exchange.ended)
      isHeld = gate.isHolding
      exchange.disconnect()
      gate.open()
      await until(() => held().calls.open === 0)
      nothingHeld()
      expect(await statusOf(call)).toMatch(okPattern.test(expected) ? okPattern : expected)
    }
    await until(() => held().calls.open === 0)
    nothingHeld()
  },
)

each('%s: a client that disconnects at any turn of the event loop leaves nothing held', async (_, callOf) => {
  expect(await statusOf(post(bytesOf(cycle(0))))).toBe('200 OK')
  // Every turn at first, then with growing steps: work in the thread pool takes thousands of turns.
  let turnsBefore = 0
  for (let index = 1, ended = false; !ended; index++) {
    const client = new Client(await callOf(index))
    const sending = client.send()
    await turns(turnsBefore)
    turnsBefore += Math.ceil(turnsBefore / 10) + 1
    ended = client.exchange.ended
    client.exchange.disconnect()
    await sending
    await until(() => held().calls.open === 0)
    nothingHeld()
  }
})

test('calls that wait for a cycle in progress stop waiting when their clients disconnect, and the cycle is stored', async () => {
  const body = bytesOf(cycle(0))
  gate.holdAfter(0)
  const first = await sent(post(body))
  const others = await Promise.all(Array.from({ length: 20 }, () => sent(post(body))))
  const respelled = await sent(post(Buffer.from(JSON.stringify(cycle(0), null, 1))))
  await turns(100)
  expect(held().calls.open).toBe(22)
  for (const { exchange } of [...others, respelled, first]) exchange.disconnect()
  await turn()
  expect(held().calls.open).toBe(1)
  gate.open()
  await until(() => held().calls.open === 0)
  nothingHeld()
  expect(await statusOf({ method: 'GET', path: '/v1/scores/20240301T0000' })).toBe('200 OK')
})

test('a cycle whose client disconnects is reported when it is scored, as scored, and a repeated one no more', async () => {
  gate.holdAfter(0)
  const { exchange } = await sent(post(bytesOf(cycle(0))))
  await until(() => gate.isHolding)
  exchange.disconnect()
  await turn()
  expect([logged, ended]).toEqual([[], []])
  gate.open()
  await until(() => held().calls.open === 0)
  expect(logged).toMatchObject([{ msg: 'cycle scored', cycle_id: '20240301T0000', status: 'aborted' }])
  expect(ended).toMatchObject([{ status: 0, stages: { summary: { cycleId: '20240301T0000' } } }])
  expect(await statusOf(post(bytesOf(cycle(0))))).toBe('200 OK')
  expect(logged.map(({ msg }) => msg)).toEqual(['cycle scored', 'cycle repeated'])
  expect(ended).toMatchObject([{ status: 0 }, { status: 200, stages: { summary: null } }])
})

test('calls without a known key are reported as such, ten a second in the log', async () => {
  const now = vi.spyOn(performance, 'now').mockReturnValue(5000)
  onTestFinished(() => now.mockRestore())
  const withKey = (authorization: string) =>
    statusOf({ method: 'GET', path: '/v1/weights', headers: { authorization } })
  for (let count = 0; count < 25; count++) expect(await withKey(count % 2 ? 'unknown' : '')).toMatch('401')
  const refused = { status: 401, code: 'unauthorized' }
  expect(logged).toMatchObject(Array(10).fill(refused))
  expect(ended).toMatchObject(Array(25).fill(refused))
  await withKey(authorization)
  now.mockReturnValue(6000)
  await withKey('')
  expect(logged.slice(10)).toMatchObject([{ status: 200 }, { ...refused, omitted: 15 }])
  expect(logged[10]).not.toHaveProperty('omitted')
})

test('a cycle is reported when its response is sent', async () => {
  const { exchange } = await sent(post(bytesOf(cycle(0))))
  await until(() => exchange.ended)
  expect(logged).toMatchObject([{ msg: 'cycle scored', cycle_id: '20240301T0000' }])
  expect(ended).toMatchObject([{ status: 200, stages: { summary: { cycleId: '20240301T0000' } } }])
  expect(ended[0]?.bytesIn).toBe(bytesOf(cycle(0)).length)
  await until(() => held().calls.open === 0)
  expect(ended).toHaveLength(1)
})

test.each([{}, { 'content-type': 'text/plain', connection: 'close' }])(
  'a cycle whose client disconnects before the end of its body is reported once, and is not scored (%o)',
  async (headers) => {
    const { exchange } = new Client(post(bytesOf(cycle(0)), headers))
    await turn()
    exchange.deliver(0, 100)
    exchange.disconnect()
    await until(() => held().calls.open === 0)
    expect(logged).toMatchObject([{ msg: 'request', status: 'aborted' }])
    expect(ended).toMatchObject([{ status: 0, stages: { summary: null } }])
  },
)

test('the memory of a request is counted until its work ends, even after the client has disconnected', async () => {
  const body = bytesOf(cycle(0, large))
  gate.holdAfter(0)
  const { exchange } = await sent(post(body))
  await until(() => gate.isHolding)
  exchange.disconnect()
  await turn()
  expect(held().bytes.body).toBe(body.length)
  gate.open()
  await until(() => held().calls.open === 0)
  nothingHeld()
})

test('weights that wait behind a cycle leave the queue when their client disconnects', async () => {
  gate.holdAfter(0)
  await sent(post(bytesOf(cycle(0))))
  await until(() => gate.isHolding)
  const { exchange } = await sent(await operations['weights']!(1))
  await turns(100)
  expect(held().calls.open).toBe(2)
  exchange.disconnect()
  await turn()
  expect(held().calls.open).toBe(1)
  gate.open()
  await until(() => held().calls.open === 0)
  nothingHeld()
})

test.each<[string, () => FakeCall]>([
  ['for decompression', () => post(gzipSync(bytesOf(cycle(2))), { 'content-encoding': 'gzip' })],
  [
    'for the thread that parses',
    () => ({ method: 'POST', path: '/v1/outcomes', body: Buffer.alloc(mebibyte, ' ') }),
  ],
  ['to read the store', () => ({ method: 'GET', path: '/v1/scores/20240301T0000' })],
])('a call that waits %s leaves the queue when its client disconnects', async (kind, callOf) => {
  // The response to the first cycle is no longer in memory.
  for (const index of [0, 1]) expect(await statusOf(post(bytesOf(cycle(index))))).toBe('200 OK')
  await until(() => held().calls.open === 0)
  const clients = Array.from({ length: 6 }, () => new Client(callOf()))
  const sending = clients.map((client) => client.send())
  if (kind !== 'to read the store') await Promise.all(sending)
  await microtasks()
  expect(held().calls.open).toBe(6)
  clients.at(-1)?.exchange.disconnect()
  await microtasks()
  expect(held().calls.open).toBe(5)
  await until(() => held().calls.open === 0)
  nothingHeld()
})

/** Reactions to what has happened in this turn of the event loop. */
async function microtasks(): Promise<void> {
  for (let i = 0; i < 50; i++) await Promise.resolve()
}
