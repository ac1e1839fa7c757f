/**
 * Faults of the admin side: streams that nobody reads, reports in progress. Each cycle must have the results of a server
 * without an admin side.
 */
import { readFileSync } from 'node:fs'
import http from 'node:http'
import { connect } from 'node:net'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { CycleRequest, CycleResponse } from '../../src/contract/index.js'
import { adminTokenOf, callAdmin } from '../helpers/admin-calls.js'
import { candidate, cycleBody, cycleMs, reading, removal } from '../helpers/bodies.js'
import { freePort, ServerProcess } from '../helpers/server-process.js'

const posts = Array.from({ length: 50 }, (_, index) => index + 1)
/** Causes warnings, so that the events of a cycle are large. */
const unknown = Array.from({ length: 100 }, (_, index) => removal('x'.repeat(280), 1000 + index))

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
afterEach(() => closing.splice(0).forEach((close) => close()))

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
  return callAdmin({ port: adminPort, path, headers: { authorization: `Bearer ${adminTokenOf(server)}` } })
}

function residentMiB(): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1]) / 1024
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
    const token = adminTokenOf(server)
    socket.write(`GET /api/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`)
  })
}

/** Opens an event stream. The function that it resolves with gives what has arrived. */
function openRead(): Promise<() => string> {
  const headers = { authorization: `Bearer ${adminTokenOf(server)}` }
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
  const before = residentMiB()
  const received = await openRead()
  const statuses = await Promise.all(Array.from({ length: 1000 }, openUnread))
  expect(statuses.filter((status) => status === '200')).toHaveLength(99)
  expect(new Set(statuses)).toEqual(new Set(['200', '503', '']))
  expect((await get('/livez')).status).toBe(200)
  const first = nextCycle
  for (let i = 0; i < 100; i++) await postCycle({ removals: unknown })
  const last = cycleBody(nextCycle - 1).cycle_id
  await expect.poll(() => received().includes(`event: cycle\ndata: {"cycle_id":"${last}"`)).toBe(true)
  expect(received().match(/^event: cycle$/gm)).toHaveLength(nextCycle - first)
  expect(residentMiB() - before).toBeLessThan(200)
  // Each of the unread ones has been closed; the one that is read is open.
  const metrics = async (): Promise<string> => (await get('/metrics')).text
  await expect.poll(metrics, { timeout: 10_000 }).toMatch(/^understudy_event_streams_dropped_total 99$/m)
  expect(await metrics()).toMatch(/^understudy_event_streams 1$/m)
})

test('reports in progress change no cycle', async () => {
  const reports = (async () => {
    for (let count = 0; count < 3; count++) expect((await get('/api/report')).status).toBe(200)
  })()
  const end = new AbortController()
  const ended = reports.finally(() => end.abort())
  while (!end.signal.aborted) await postCycle()
  await ended
})
