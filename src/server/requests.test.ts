/**
 * Requests from socket to response: what each operation returns, on a service in memory.
 */
import { expect, test } from 'vitest'
import {
  bytesOf,
  candidate,
  cycleBody,
  cycleMs,
  reading,
  removal,
  snapshot,
} from '../../test/helpers/bodies.js'
import { listening } from '../../test/helpers/listening-service.js'

const weights = { views: 1, comments: 0, up: 0, downvote_share: 0 }
const cycle = cycleBody(0, { candidates: [candidate('g', 1)], engagement: [reading('g', 1, cycleMs(0))] })

test('a cycle gets a response, which is stored', async () => {
  const server = await listening()
  const first = await server.postCycle(cycle)
  expect([first.status, first.json]).toMatchObject([200, { counts: { scored_now: 1 } }])
  const stored = await server.call({ path: `/v1/scores/${cycle.cycle_id}` })
  expect([stored.status, stored.text]).toEqual([200, first.text])
  expect((await server.call({ path: '/v1/scores/20240301T0005' })).status).toBe(404)
})

test('Server-Timing has the stages of a cycle, new or repeated, if the client requests it', async () => {
  const server = await listening()
  const timingOf = async (query: string, headers = {}): Promise<unknown> => {
    const sent = { method: 'POST', path: `/v1/cycles${query}`, headers, body: bytesOf(cycle) }
    return (await server.call(sent)).headers['server-timing']
  }
  const stages =
    /^receive;dur=[\d.]+, decode;dur=[\d.]+, wait;dur=[\d.]+, plan;dur=[\d.]+, .*commit;dur=[\d.]+$/
  expect(await timingOf('?timing')).toMatch(stages)
  // Recognised by its hash, then by its bytes.
  expect(await timingOf('?a=b&timing=1')).toMatch(/^receive;dur=/)
  expect(await timingOf('', { 'X-Timing': '1' })).toMatch(/^receive;dur=/)
  expect(await timingOf('?nottiming')).toBeUndefined()
})

test('a response is not compressed while a body that nobody reads arrives', async () => {
  const server = await listening()
  const candidates = Array.from({ length: 40 }, (_, index) => candidate('g', index + 1))
  const { text } = await server.postCycle({ ...cycle, candidates })
  expect(text.length).toBeGreaterThan(1400)
  const scores = { path: `/v1/scores/${cycle.cycle_id}`, headers: { 'Accept-Encoding': 'gzip' } }
  expect((await server.call({ ...scores, body: 'unread' })).text).toBe(text)
})

test('a method that a path does not have is 405, and the response names those that it has', async () => {
  const server = await listening()
  const { status, headers } = await server.call({ method: 'DELETE', path: '/v1/health' })
  expect([status, headers.allow]).toEqual([405, 'GET, HEAD'])
})

test('health names the weights in force, which are those of the boundary before now', async () => {
  const server = await listening()
  const body = bytesOf({ version: 'next', weights: { ...weights, up: 1 } })
  const set = await server.call({ method: 'PUT', path: '/v1/weights', body })
  expect(set.json).toEqual({ version: 'next', first_cycle_time: new Date(cycleMs(11)).toISOString() })
  const { json } = await server.call({ path: '/v1/health' })
  expect(json).toMatchObject({ status: 'ok', weights_version: 'initial' })
})

test('health names the cycle that arrived last, late ones included, with the time at which it arrived', async () => {
  const server = await listening()
  const health = async () => (await server.call({ path: '/v1/health' })).json
  expect(await health()).toMatchObject({ last_cycle_id: null, last_cycle_received_at: null })
  await server.postCycle(cycleBody(1))
  await server.postCycle(cycle)
  const last_cycle_received_at = new Date(cycleMs(10) + 1000).toISOString()
  expect(await health()).toMatchObject({ last_cycle_id: cycle.cycle_id, last_cycle_received_at })
})

test('weights of which views, comments and up are 0 are unprocessable', async () => {
  const server = await listening()
  const body = bytesOf({ version: 'v', weights: { ...weights, views: 0 } })
  expect((await server.call({ method: 'PUT', path: '/v1/weights', body })).status).toBe(422)
})

test('each request has one log line with its status: at debug for health that has a result, else at info', async () => {
  const server = await listening()
  await server.call({ path: '/v1/health' })
  await server.call({ path: '/v1/weights' })
  await server.call({ method: 'POST', path: '/v1/cycles', body: '{' })
  expect(server.logLines.filter(({ msg }) => msg === 'request')).toMatchObject([
    { level: 20, path: '/v1/health', status: 200 },
    { level: 30, path: '/v1/weights', status: 200 },
    { level: 30, path: '/v1/cycles', status: 400, code: 'bad_request', bytes_in: 1 },
  ])
  expect(JSON.stringify(server.logLines)).not.toContain(server.key)
})

test('the log line of a cycle has the counts of its response, each under its name', async () => {
  const server = await listening()
  const { json } = await server.postCycle(
    cycleBody(0, {
      candidates: [1, 2, 3].map((post) => candidate('g', post)),
      engagement: [1, 11, 12, 13, 14, 15, 16].map((post) => reading('g', post, cycleMs(0))),
      candidate_scores: [1, 2, 3, 4].map((post) => snapshot('g', post, cycleMs(0))),
      removals: [21, 22, 23, 24, 25].map((post) => removal('g', post)),
    }),
  )
  const counts = { candidates: 3, engagement: 7, candidate_scores: 4, removals: 5, waiting: 2, not_scored: 6 }
  expect(json).toMatchObject({ counts: { ...counts, scored_now: 1, results: 9 } })
  expect(server.logLines).toContainEqual(
    expect.objectContaining({ msg: 'cycle scored', ...counts, scored: 1, warnings: 1 }),
  )
})

test('an outcome is stored as it is, whatever the stored cycles say of its post, its tier, its model and its time', async () => {
  const server = await listening()
  const outcome = {
    placement_id: 'p',
    gall_id: 'unknown',
    post_no: 404,
    tier: 'front',
    placed_at: '2999-01-01T00:00:00Z',
    picked_by: { type: 'operator', model_version: 'never-loaded' },
  }
  const body = bytesOf({ outcomes: [outcome] })
  expect((await server.call({ method: 'POST', path: '/v1/outcomes', body })).json).toEqual({
    received: 1,
    created: 1,
    updated: 0,
  })
})
