/**
 * Calls that need neither the model nor the disk do not wait for those that do: while a new cycle waits to be decoded, for
 * the model or for its commit, repeats, stored scores, health, weights and refusals get their responses. Repeated images do not wait
 * for other uploads.
 */
import pino from 'pino'
import { beforeEach, expect, test, vi } from 'vitest'
import { candidate, cycleBody, cycleMs, reading } from '../../test/helpers/bodies.js'
import { FakeExchange, type FakeCall } from '../../test/helpers/fake-exchange.js'
import { FakeModel } from '../../test/helpers/fake-model.js'
import { smallJpeg } from '../../test/harness/jpeg.js'
import { memoryStore } from '../../test/helpers/memory-store.js'
import type * as Codec from '../codec/index.js'
import { CycleService } from '../cycle/index.js'
import { ImageSemaphore } from '../images/index.js'
import type { Settings } from '../settings/index.js'
import { ApiKeys } from './api-keys.js'
import { BodyMemory } from './body.js'
import { ImageUploads } from './image-uploads.js'
import { RequestHandler } from './request-handler.js'

const authorization = 'key-of-these-tests-0123456789'
const weights = { views: 1, comments: 0, up: 0, downvote_share: 0 }

let handler: RequestHandler
/** Each is awaited where its name says, if it is set. */
let blocked: { decoding: Promise<void> | null; disk: Promise<void> | null }
let model: FakeModel
let imageSemaphore: ImageSemaphore

vi.mock('../codec/index.js', async (importActual) => {
  const actual = await importActual<typeof Codec>()
  const readCycle: typeof Codec.readCycle = async (...args) => {
    await blocked.decoding
    return actual.readCycle(...args)
  }
  return { ...actual, readCycle }
})

beforeEach(async () => {
  const log = pino({ level: 'silent' })
  blocked = { decoding: null, disk: null }
  model = new FakeModel()
  const store = memoryStore({
    beforeWrite: async () => {
      await blocked.disk
    },
  })
  const [serving, clock] = [() => model, () => cycleMs(1000)]
  const cycles = await CycleService.open({
    store,
    model: serving,
    clock,
    log,
    textEncodeMsMax: 1000,
    limits: () => ({ clockSkewMs: 2000, cyclesWaitingMax: 4 }),
    initialWeights: { version: 'initial', weights },
  })
  imageSemaphore = new ImageSemaphore(Infinity)
  const images = new ImageUploads(store, imageSemaphore, (image) => cycles.imageStored(image))
  const settings = (): Settings => ({ bodyReadMsMax: 60_000, clockSkewMs: 2000 }) as Settings
  handler = new RequestHandler({
    apiKeys: new ApiKeys([authorization]),
    log,
    bodies: new BodyMemory(1e9),
    operationParts: { cycles, images, store, model: serving, clock, log, settings },
  })
})

function begin(call: FakeCall): FakeExchange {
  const exchange = new FakeExchange({ ...call, headers: { authorization, ...call.headers } })
  handler.handle(exchange.response, exchange.request)
  exchange.deliver(0, call.body?.length ?? 0)
  return exchange
}

async function statusOf(call: FakeCall): Promise<string> {
  const exchange = begin(call)
  while (!exchange.ended) await new Promise((resolve) => setImmediate(resolve))
  return exchange.status
}

const post = (body: Uint8Array): FakeCall => ({ method: 'POST', path: '/v1/cycles', body })
const get = (path: string, key = authorization): FakeCall => ({
  method: 'GET',
  path,
  headers: { authorization: key },
})

/** A body of this size is refused before it is decoded if too many cycles wait. */
const padding = ' '.repeat(300_000)
const cycle = (index: number): Uint8Array =>
  Buffer.from(
    JSON.stringify(
      cycleBody(index, {
        candidates: [candidate('g', index + 1)],
        engagement: [reading('g', index + 1, cycleMs(index))],
      }),
    ) + padding,
  )

const jpeg: FakeCall = {
  method: 'PUT',
  path: '/v1/images/g/1/01',
  headers: { 'content-type': 'image/jpeg' },
  body: await smallJpeg(1),
}

test.each(['decoding', 'model', 'disk'] as const)('a new cycle that waits: %s', async (where) => {
  expect([await statusOf(post(cycle(0))), await statusOf(jpeg)]).toEqual(['200 OK', '201 Created'])
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => (open = resolve))
  if (where === 'model') model.blockedBy = opened
  else blocked[where] = opened
  // They fill the queue; one more may be refused.
  const waiting = [1, 2, 3, 4, 5, 6].map((index) => begin(post(cycle(index))))
  const calls: readonly FakeCall[] = [
    post(cycle(0)),
    jpeg,
    get('/v1/scores/20240301T0000'),
    get('/v1/health'),
    get('/v1/weights'),
    get('/v1/weights', 'wrong'),
    get('/v1/scores/20240301T0005'),
  ]
  const statuses = await Promise.all(calls.map(statusOf))
  expect(statuses.map((status) => status.slice(0, 3))).toEqual([
    '200',
    '200',
    '200',
    '200',
    '200',
    '401',
    '404',
  ])
  expect(waiting.filter(({ ended }) => !ended)).not.toEqual([])
  expect(waiting.some(({ status }) => status.startsWith('200'))).toBe(false)
  open()
  while (!waiting.every(({ ended }) => ended)) await new Promise((resolve) => setImmediate(resolve))
  for (const { status } of waiting) expect(status).toMatch(/^(200|503) /)
})

test('uploads that fill the queue of the decoder: a repeated image is answered, another one is refused', async () => {
  expect(await statusOf(jpeg)).toBe('201 Created')
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => (open = resolve))
  const waiting = Array.from({ length: 4 }, () => imageSemaphore.run(1, () => opened))
  imageSemaphore.waitingBytesMax = 0
  expect(await statusOf(jpeg)).toBe('200 OK')
  for (const path of ['/v1/images/g/2/01', '/v1/images/g/0/01'])
    expect(await statusOf({ ...jpeg, path })).toMatch(/^503/)
  open()
  await Promise.all(waiting)
})
