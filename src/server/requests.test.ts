/**
 * Requests from socket to response, in this process: a listener on a service in memory. The system tests send the same
 * and more to whole servers.
 */
import { request } from 'node:http'
import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import pino from 'pino'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { bytesOf, candidate, cycleBody, cycleMs, reading } from '../../test/helpers/bodies.js'
import { FakeModel } from '../../test/helpers/fake-model.js'
import { smallJpeg } from '../../test/helpers/jpegs.js'
import { referenceCodec } from '../codec/index.js'
import { CycleService } from '../cycle/index.js'
import { ImageSemaphore } from '../images/index.js'
import { createMemoryStore } from '../store/index.js'
import { ApiKeys } from './api-keys.js'
import { BodyAdmission } from './body-admission.js'
import { ConnectionLimit } from './connection-limit.js'
import { listen, type HttpListener } from './http-listener.js'
import { ImageUploads } from './image-uploads.js'
import { RequestHandler } from './request-handler.js'
import type { Settings } from '../settings/index.js'

const key = 'key-of-these-tests-0123456789'
const weights = { views: 1, comments: 0, up: 0, downvote_share: 0 }
const nowMs = cycleMs(10) + 1000

let listener: HttpListener
let lines: Record<string, unknown>[]
let bodies: BodyAdmission
let settings: Pick<Settings, 'bodyReadMsMax'>

beforeEach(async () => {
  lines = []
  settings = { bodyReadMsMax: 60_000 }
  bodies = new BodyAdmission(40 * 1024 * 1024)
  const log = pino(
    { level: 'debug' },
    { write: (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[number]) },
  )
  const store = createMemoryStore()
  const fake = new FakeModel()
  const [model, clock] = [() => fake, () => nowMs]
  const cycles = await CycleService.open({
    ...{ codec: referenceCodec, store, model, clock, log, textEncodeMsMax: 1000 },
    limits: () => ({ clockSkewMs: 2000, cyclesWaitingMax: 4 }),
    initialWeights: { version: 'initial', weights },
  })
  const images = new ImageUploads(store, new ImageSemaphore(Infinity), (image) => cycles.imageStored(image))
  const handler = new RequestHandler({
    ...{ apiKeys: new ApiKeys([key]), requestBodies: bodies, responseBodies: new BodyAdmission(1e9), log },
    operationParts: { cycles, images, store, model, clock, log, settings: () => settings as Settings },
  })
  listener = await listen(
    { host: '127.0.0.1', port: 0 },
    {
      connections: new ConnectionLimit(100, log, {
        isTls: false,
        adminConnectionsMax: 0,
        descriptorsMax: 1000,
      }),
      onRequest: (response, received) => handler.handle(response, received),
    },
  )
})

afterEach(() => {
  listener.stopListening()
  listener.closeConnections()
})

interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

function call(
  method: string,
  path: string,
  body?: Uint8Array,
  headers: Record<string, string> = {},
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const sent = request(
      { port: listener.port, method, path, agent: false, headers: { authorization: key, ...headers } },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(chunks).toString(),
          }),
        )
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}

const cycle = bytesOf(
  cycleBody(0, { candidates: [candidate('g', 1)], engagement: [reading('g', 1, cycleMs(0))] }),
)
const json = (reply: Reply): unknown => JSON.parse(reply.body)

test('a cycle gets a response, which is stored, and HEAD has the length of GET without a body', async () => {
  const first = await call('POST', '/v1/cycles', cycle)
  expect([first.status, json(first)]).toMatchObject([200, { counts: { scored_now: 1 } }])
  const stored = await call('GET', '/v1/scores/20240301T0000')
  expect([stored.status, stored.body]).toEqual([200, first.body])
  const head = await call('HEAD', '/v1/scores/20240301T0000')
  expect([head.status, head.headers['content-length'], head.body]).toEqual([
    200,
    String(first.body.length),
    '',
  ])
  expect((await call('GET', '/v1/scores/20240301T0005')).status).toBe(404)
})

test('only health needs no key', async () => {
  for (const path of ['/v1/weights', '/v1/nothing', '/v1/scores/20240301T0000']) {
    const refused = await call('GET', path, undefined, { authorization: `${key}x` })
    expect([refused.status, refused.headers['www-authenticate']], path).toEqual([401, 'ApiKey'])
  }
  expect((await call('GET', '/v1/health', undefined, { authorization: '' })).status).toBe(200)
  expect((await call('DELETE', '/v1/health')).headers['allow']).toBe('GET, HEAD')
})

test('health names the weights in force, which are those of the boundary before now', async () => {
  const body = bytesOf({ version: 'next', weights: { ...weights, up: 1 } })
  const set = await call('PUT', '/v1/weights', body)
  expect(json(set)).toEqual({ version: 'next', first_cycle_time: new Date(cycleMs(11)).toISOString() })
  expect(json(await call('GET', '/v1/health'))).toMatchObject({
    status: 'ok',
    weights_version: 'initial',
    last_cycle_id: null,
  })
  await call('POST', '/v1/cycles', cycle)
  expect(json(await call('GET', '/v1/health'))).toMatchObject({ last_cycle_id: '20240301T0000' })
})

test('weights of which views, comments and up are 0 are unprocessable', async () => {
  const none = await call('PUT', '/v1/weights', bytesOf({ version: 'v', weights: { ...weights, views: 0 } }))
  expect(none.status).toBe(422)
})

test('a gzip body is read as its content; what follows it is refused', async () => {
  const gzip = { 'content-encoding': 'gzip' }
  expect((await call('POST', '/v1/cycles', gzipSync(cycle), gzip)).status).toBe(200)
  const followed = Buffer.concat([gzipSync(cycle), Buffer.from('\0x')])
  expect((await call('POST', '/v1/cycles', followed, gzip)).status).toBe(400)
})

test('decompressed bytes count in the memory of bodies, and are released with the request', async () => {
  const large = bytesOf({ outcomes: [], padding: 'x'.repeat(8 * 1024 * 1024) })
  bodies.bytesMax = large.length - 1
  const refused = await call('POST', '/v1/outcomes', gzipSync(large), { 'content-encoding': 'gzip' })
  expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1'])
  bodies.bytesMax = large.length + 1024 * 1024
  const accepted = await call('POST', '/v1/outcomes', gzipSync(large), { 'content-encoding': 'gzip' })
  expect([accepted.status, bodies.bytesHeld]).toEqual([200, 0])
})

test('a body larger than its limit is 413, plain and decompressed', async () => {
  const large = Buffer.alloc(16 * 1024 * 1024 + 1, 0x20)
  expect((await call('POST', '/v1/cycles', large)).status).toBe(413)
  const gzip = { 'content-encoding': 'gzip' }
  expect((await call('POST', '/v1/cycles', gzipSync(large), gzip)).status).toBe(413)
})

test('a client that sends its body too slowly is disconnected at the time limit', async () => {
  settings = { bodyReadMsMax: 100 }
  const socket = connect(listener.port, '127.0.0.1')
  socket.write(
    `POST /v1/outcomes HTTP/1.1\r\nHost: x\r\nAuthorization: ${key}\r\nContent-Length: 1000\r\n\r\n`,
  )
  const sending = setInterval(() => socket.write('x'), 10)
  let received = ''
  socket.on('data', (bytes: Buffer) => (received += bytes.toString()))
  await new Promise((resolve) => socket.on('error', () => undefined).on('close', resolve))
  clearInterval(sending)
  expect(received).toBe('')
  expect(bodies.bytesHeld).toBe(0)
})

test('an image is created once; other bytes under its key are a conflict', async () => {
  const jpeg = { 'content-type': 'image/jpeg' }
  const put = async (grey: number): Promise<number> =>
    (await call('PUT', '/v1/images/g/1/01', await smallJpeg(grey), jpeg)).status
  expect([await put(1), await put(1), await put(2)]).toEqual([201, 200, 409])
  expect((await call('PUT', '/v1/images/g/1/1', await smallJpeg(1), jpeg)).status).toBe(400)
})

test('a request whose end is ambiguous is refused and ends its connection', async () => {
  const socket = connect(listener.port, '127.0.0.1')
  const lengths = 'Content-Length: 2\r\nContent-Length: 2'
  socket.write(`GET /v1/weights HTTP/1.1\r\nHost: x\r\nAuthorization: ${key}\r\n${lengths}\r\n\r\n`)
  let received = ''
  for await (const chunk of socket) received += String(chunk)
  expect(received).toMatch(/^HTTP\/1.1 400 /)
})

test('each request has one log line with its status: at debug for health, else at info', async () => {
  await call('GET', '/v1/health')
  await call('GET', '/v1/weights')
  await call('POST', '/v1/cycles', Buffer.from('{'))
  const logged = lines.filter(({ msg }) => msg === 'request')
  expect(logged).toMatchObject([
    { level: 20, path: '/v1/health', status: 200 },
    { level: 30, path: '/v1/weights', status: 200 },
    { level: 30, path: '/v1/cycles', status: 400, code: 'bad_request', bytes_in: 1 },
  ])
  expect(JSON.stringify(lines)).not.toContain(key)
})
