/**
 * Faults of the admin listener: streams that nobody reads, reports in progress. Each cycle must have the results of a server
 * without an admin listener.
 */
import http from 'node:http'
import { connect } from 'node:net'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { memoryMib } from '../harness/proc.js'
import type { CycleRequest, CycleResponse } from '../../src/contract/index.js'
import { send } from '../harness/http.js'
import { candidate, cycleBody, cycleMs, reading } from '../helpers/bodies.js'
import { freePort, ServerProcess } from '../harness/server.js'

const posts = Array.from({ length: 50 }, (_, index) => index + 1)
/** Cause warnings, so that the event of a call has 6 kB. */
const unknownFields: object = Object.fromEntries(
  Array.from({ length: 20 }, (_, index) => [`${index}`.padEnd(280, 'x'), 1]),
)

let server: ServerProcess
let control: ServerProcess
let adminPort: number
let nextCycle = 0

beforeAll(async () => {
  adminPort = await freePort()
  server = await new ServerProcess({ UNDERSTUDY_ADMIN_PORT: String(adminPort) }).start()
  control = await new ServerProcess({ UNDERSTUDY_ADMIN_PORT: 'off' }).start()
  await postCycle({ candidates: posts.map((post) => candidate('g', post)) })
})
afterAll(() => Promise.all([server.dispose(), control.dispose()]))

const closing: (() => void)[] = []
afterEach(async () => {
  closing.splice(0).forEach((close) => close())
  // Until the server has noticed that they are closed, it refuses further connections.
  await vi.waitUntil(
    () =>
      get('/livez').then(
        ({ status }) => status === 200,
        () => false,
      ),
    { timeout: 20_000 },
  )
})

/** The next cycle, which must have the same results on both servers. */
async function postCycle(parts: Partial<CycleRequest> = {}): Promise<void> {
  const index = nextCycle++
  const engagement = posts.map((post) => reading('g', post, cycleMs(index), { views: 10 * post + index }))
  const body = cycleBody(index, { engagement, ...parts })
  const [own, expected] = await Promise.all([server, control].map((one) => one.postCycle(body)))
  expect(own?.status, own?.text).toBe(200)
  expect(timeless(own?.text)).toEqual(timeless(expected?.text))
}

function timeless(text = ''): Partial<CycleResponse> {
  return { ...(JSON.parse(text) as CycleResponse), received_at: '', scored_at: '' }
}

function get(path: string) {
  return send({ port: adminPort, path, headers: { authorization: `Bearer ${server.adminToken}` } })
}

/** Streams that were closed because nobody read them; up to a second old. */
async function droppedCount(): Promise<number> {
  const { text } = await get('/metrics')
  return Number(/^understudy_event_streams_dropped_total (\d+)$/m.exec(text)?.[1])
}

/** Opens an event stream and reads nothing after the head. Resolves with its status; '': the connection was refused. */
function openUnread(): Promise<string> {
  const socket = connect(adminPort, '127.0.0.1')
  closing.push(() => socket.destroy())
  return new Promise((resolve) => {
    socket.on('error', () => undefined).once('close', () => resolve(''))
    socket.once('data', (data: Buffer) => {
      socket.pause()
      resolve(data.toString().slice(9, 12))
    })
    const token = server.adminToken
    socket.write(`GET /api/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`)
  })
}

/** Opens an event stream. The function that it resolves with gives what has arrived. */
function openRead(): Promise<() => string> {
  const headers = { authorization: `Bearer ${server.adminToken}` }
  return new Promise((resolve) => {
    const request = http.get({ port: adminPort, path: '/api/events', headers, agent: false }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part: string) => (text += part))
      response.on('error', () => undefined)
      resolve(() => text)
    })
    request.on('error', () => undefined)
    closing.push(() => request.destroy())
  })
}

test('of 1,000 event streams 100 are open, nearly all of them unread, and no cycle changes', async () => {
  const before = memoryMib(server.pid!, 'VmRSS')!
  const received = await openRead()
  const statuses = await Promise.all(Array.from({ length: 1000 }, openUnread))
  expect(statuses.filter((status) => status === '200')).toHaveLength(99)
  expect(new Set(statuses)).toEqual(new Set(['200', '503', '']))
  expect((await get('/livez')).status).toBe(200)
  const first = nextCycle
  // The system itself holds some megabytes for each reader.
  for (let i = 0; i < 2000; i++) {
    await postCycle({ engagement: [], ...unknownFields })
    if (i % 50 === 0 && (await droppedCount()) > 0) break
  }
  expect(await droppedCount()).toBeGreaterThan(0)
  const last = cycleBody(nextCycle - 1).cycle_id
  await expect.poll(() => received().includes(`event: cycle\ndata: {"cycle_id":"${last}"`)).toBe(true)
  expect(received().match(/^event: cycle$/gm)).toHaveLength(nextCycle - first)
  expect(memoryMib(server.pid!, 'VmRSS')! - before).toBeLessThan(200)
}, 120_000)

test('reports in progress change no cycle', async () => {
  const reports = (async () => {
    for (let count = 0; count < 3; count++) expect((await get('/api/report')).status).toBe(200)
  })()
  const end = new AbortController()
  const ended = reports.finally(() => end.abort())
  while (!end.signal.aborted) await postCycle()
  await ended
})
