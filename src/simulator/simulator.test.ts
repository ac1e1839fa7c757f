/**
 * Whole simulations against a small service in memory: a correct service passes despite all client faults, and each
 * kind of contract violation is detected.
 */
import { createHash } from 'node:crypto'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { afterEach, describe, expect, test } from 'vitest'
import { parseInstant, type Candidate, type CycleRequest, type ResultRow } from '../contract/index.js'
import { simulate, type Outage, type SimulationOptions } from './index.js'

type Violation =
  | 'replays differ'
  | 'forgets a cycle'
  | 'changes a stored answer'
  | 'loses a post'
  | 'keeps a removed post'
  | 'forgets images'
  | 'refuses its own cycle'
  | 'miscounts outcomes'
  | 'changes its name'
  | '503 without Retry-After'

interface Reply {
  status: number
  body: unknown
  headers?: Record<string, string>
}

/** The part of the contract that the simulator uses, in memory. */
class SmallService {
  violation: Violation | null = null
  /** Number of requests whose connection is closed without a response. */
  outage = 0
  cyclesPosted = 0
  readonly answers = new Map<string, string>()
  private readonly bodies = new Map<string, string>()
  private readonly pending = new Map<string, Candidate>()
  private readonly images = new Map<string, string>()
  private readonly placements = new Set<string>()
  private lastCycleId: string | null = null
  private readonly server = http.createServer((request, response) => this.serve(request, response))

  listen(): Promise<string> {
    return new Promise((resolve) => {
      this.server.listen(0, '127.0.0.1', () => {
        resolve(`http://127.0.0.1:${(this.server.address() as AddressInfo).port}`)
      })
    })
  }

  close(): void {
    this.server.close()
    this.server.closeAllConnections()
  }

  private serve(request: http.IncomingMessage, response: http.ServerResponse): void {
    if (this.outage > 0) {
      this.outage--
      request.socket.destroy()
      return
    }
    const chunks: Buffer[] = []
    request.on('error', () => {})
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const packed = request.headers['content-encoding'] === 'gzip'
      const body = packed ? gunzipSync(Buffer.concat(chunks)) : Buffer.concat(chunks)
      const reply = this.route(request, body)
      const text = typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body)
      response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers })
      response.end(request.method === 'HEAD' ? undefined : text)
    })
  }

  private route(request: http.IncomingMessage, body: Buffer): Reply {
    const [, , resource, name] = (request.url ?? '').split('/')
    if (resource !== 'health' && request.headers.authorization !== 'secret') {
      return refusal(401, 'unauthorized')
    }
    switch (resource) {
      case 'health':
        return { status: 200, body: this.health() }
      case 'weights':
        return { status: 200, body: { current: weights, previous: null } }
      case 'images':
        return this.putImage(request, body)
      case 'scores':
        return this.stored(name as string)
      case 'cycles':
        return this.cycle(JSON.parse(body.toString()) as CycleRequest)
      default:
        return this.outcomes(JSON.parse(body.toString()) as { outcomes: { placement_id: string }[] })
    }
  }

  private health(): object {
    return {
      status: 'ok',
      time: new Date().toISOString(),
      api_version: '1',
      model_version: 'm1',
      weights_version: weights.version,
      last_cycle_id: this.lastCycleId,
      last_cycle_received_at: this.lastCycleId === null ? null : new Date().toISOString(),
    }
  }

  private putImage(request: http.IncomingMessage, body: Buffer): Reply {
    const sha256 = createHash('sha256').update(body).digest('hex')
    const key = request.url as string
    if (request.headers['x-content-sha256'] !== sha256) return refusal(400, 'bad_request')
    const known = this.images.get(key)
    if (known !== undefined && known !== sha256) return refusal(409, 'conflict')
    if (this.violation !== 'forgets images') this.images.set(key, sha256)
    return { status: known === undefined ? 201 : 200, body: {} }
  }

  private stored(cycleId: string): Reply {
    const answer = this.answers.get(cycleId)
    if (answer === undefined || (this.violation === 'forgets a cycle' && this.answers.size > 3)) {
      return refusal(404, 'not_found')
    }
    const changed = this.violation === 'changes a stored answer' && cycleId !== this.lastCycleId
    return { status: 200, body: changed ? answer.replace('"m1"', '"m2"') : answer }
  }

  get pendingCount(): number {
    return this.pending.size
  }

  cycle(request: CycleRequest): Reply {
    this.cyclesPosted++
    const body = canonical(request)
    const before = this.answers.get(request.cycle_id)
    if (before !== undefined) {
      if (this.bodies.get(request.cycle_id) !== body || this.violation === 'refuses its own cycle') {
        return refusal(409, 'conflict')
      }
      return { status: 200, body: this.violation === 'replays differ' ? `${before} ` : before }
    }
    if (this.violation === '503 without Retry-After') return refusal(503, 'server_error')
    const answer = JSON.stringify(this.answer(request))
    this.answers.set(request.cycle_id, answer)
    this.bodies.set(request.cycle_id, body)
    this.lastCycleId = request.cycle_id
    return { status: 200, body: answer }
  }

  private answer(request: CycleRequest): object {
    for (const candidate of request.candidates) this.pending.set(keyOf(candidate), candidate)
    if (this.violation !== 'keeps a removed post') {
      for (const removal of request.removals) this.pending.delete(keyOf(removal))
    }
    if (this.violation === 'loses a post' && this.pending.size > 9) {
      this.pending.delete([...this.pending.keys()][4] as string)
    }
    const results = this.results(request)
    const countOf = (status: string): number => results.filter((row) => row.status === status).length
    const nulls = request.engagement
      .flatMap((row): unknown[] => Object.values(row))
      .filter((value) => value === null)
    return {
      cycle_id: request.cycle_id,
      cycle_time: request.cycle_time,
      received_at: new Date().toISOString(),
      scored_at: new Date().toISOString(),
      model_version: this.violation === 'changes its name' && this.answers.size > 5 ? 'm2' : 'm1',
      weights_version: weights.version,
      counts: {
        candidates: request.candidates.length,
        engagement: request.engagement.length,
        candidate_scores: request.candidate_scores.length,
        removals: request.removals.length,
        scored_now: countOf('scored'),
        waiting: countOf('waiting'),
        not_scored: countOf('not_scored'),
        results: results.length,
      },
      missing_feature_share: nulls.length / Math.max(1, 5 * request.engagement.length),
      warnings: [],
      results,
    }
  }

  private results(request: CycleRequest): ResultRow[] {
    const rows = new Map(request.engagement.map((row) => [keyOf(row), row]))
    const known = [...this.pending.values()].map((post): ResultRow => {
      const { gall_id, post_no } = post
      const status = rows.get(keyOf(post))?.status
      if (status === undefined) return { gall_id, post_no, status: 'waiting', score: null }
      const bare = { gall_id, post_no, status: 'not_scored', score: null } as const
      if (post.title.trim() === '') return { ...bare, reason: 'missing_title' }
      if (post.created_at === null || post.extracted_at === null) return { ...bare, reason: 'missing_clock' }
      if (status !== 'ok') return { ...bare, reason: 'post_unavailable' }
      const share = (post_no % 100) / 100
      const heads = { p_views: share, p_comments: share, p_up: share, downvote_share: share }
      const scored_at_cycle = request.cycle_time
      return { gall_id, post_no, status: 'scored', score: share, ...heads, scored_at_cycle }
    })
    const unknown = request.engagement
      .filter((row) => !this.pending.has(keyOf(row)))
      .map(({ gall_id, post_no }): ResultRow => {
        return { gall_id, post_no, status: 'not_scored', score: null, reason: 'unknown_post' }
      })
    return [...known, ...unknown]
  }

  private outcomes(body: { outcomes: { placement_id: string }[] }): Reply {
    const ids = body.outcomes.map((outcome) => outcome.placement_id)
    const created = ids.filter((id) => !this.placements.has(id)).length
    for (const id of ids) this.placements.add(id)
    const received = ids.length + (this.violation === 'miscounts outcomes' ? 1 : 0)
    return { status: 200, body: { received, created, updated: ids.length - created } }
  }
}

const weights = {
  version: 'w1',
  weights: { views: 0.4, comments: 0.3, up: 0.3, downvote_share: 0 },
  note: '',
  set_at: '2026-01-01T00:00:00Z',
  first_cycle_time: '2026-01-01T00:00:00Z',
}

function refusal(status: number, code: string): Reply {
  return { status, body: { error: { code, message: code } } }
}

function keyOf(post: { gall_id: string; post_no: number }): string {
  return JSON.stringify([post.gall_id, post.post_no])
}

/** The same text for the same value, whatever the order of members. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  )
}

// ---- simulations

const services: SmallService[] = []

/** Busy hours, so that a short simulation has posts of all kinds at any time of day. */
const noon = { startAt: '2026-01-05T12:00:00+09:00' }

afterEach(() => {
  for (const service of services.splice(0)) service.close()
})

async function open(): Promise<{ service: SmallService; options: SimulationOptions }> {
  const service = new SmallService()
  services.push(service)
  const url = await service.listen()
  return { service, options: { url, apiKey: 'secret', hours: 3, postsPerDay: 1500 } }
}

test('a correct service passes despite all faults, and the report counts them', async () => {
  const { service, options } = await open()
  const cycleIndexes: number[] = []
  const report = await simulate({
    ...options,
    ...noon,
    exclusive: true,
    onProgress: (progress) => cycleIndexes.push(progress.cycleIndex),
  })
  expect(cycleIndexes).toEqual(Array.from({ length: 36 }, (_, index) => index + 1))
  // The 37th removes the posts.
  expect(service.answers.size).toBe(37)
  const { totals } = report
  expect(totals).toMatchObject({ cycles: 36, cyclesStoredBefore: 0, retries: 0 })
  for (const name of ['candidates', 'removals', 'imagesCreated', 'outcomes', 'faults'] as const) {
    expect(totals[name], name).toBeGreaterThan(0)
  }
  expect(totals.responsesReread).toBeGreaterThanOrEqual(36)
  expect(report).toMatchObject({ modelVersion: 'm1', weightsVersion: 'w1', resumed: false })
  expect(report.top).toHaveLength(10)
  expect(report.top.map((post) => post.score)).toEqual(
    report.top.map((post) => post.score).sort((a, b) => b - a),
  )
  expect(report.top.every((post) => post.title !== '')).toBe(true)
  for (const { gallery, gall_id } of report.top) expect(gall_id).toMatch(new RegExp(`^${gallery}_r\\w+$`))
})

test('a repeated simulation finds all its cycles stored, and every response unchanged', async () => {
  const { options } = await open()
  const first = await simulate({ ...options, ...noon })
  const second = await simulate({ ...options, ...noon })
  expect(second.totals).toMatchObject({ cycles: 36, cyclesStoredBefore: 36, imagesCreated: 0 })
  expect(second.top).toEqual(first.top)
})

test('a new client resumes an unfinished simulation', async () => {
  const { service, options } = await open()
  const stop = new AbortController()
  const cut = simulate({
    ...options,
    signal: stop.signal,
    onProgress: (progress) => progress.cycleIndex === 20 && stop.abort(new Error('cut')),
  })
  await expect(cut).rejects.toThrow('cut')
  const report = await simulate(options)
  expect(report.resumed).toBe(true)
  expect(report.totals.cycles).toBe(36)
  // The last response may have the millisecond in which the new client connected.
  expect([19, 20]).toContain(report.totals.cyclesStoredBefore)
  expect(service.answers.size).toBe(37)
})

test('another simulation uses free cycles and treats posts of the first as those of another client', async () => {
  const { service, options } = await open()
  let searches = 0
  const onSearch = (): void => {
    searches++
  }
  const first = await simulate({ ...options, onSearch, keepPosts: true })
  expect(searches).toBe(0)
  const second = await simulate({ ...options, seed: 2, onSearch })
  expect(searches).toBe(1)
  expect(second.endAtMs).toBeLessThanOrEqual(first.startAtMs)
  expect(service.answers.size).toBe(73)
  expect(second.totals.waiting).toBeGreaterThan(first.totals.waiting)
})

test('cycle ids that another client uses are an error of kind occupied', async () => {
  const { options } = await open()
  await simulate({ ...options, ...noon })
  const other = simulate({ ...options, ...noon, seed: 2 })
  await expect(other).rejects.toMatchObject({ name: 'SimulationError', kind: 'occupied' })
  await expect(simulate({ ...options, exclusive: true })).rejects.toMatchObject({ kind: 'occupied' })
})

test('a simulation survives outages and reports their start and end', async () => {
  const { service, options } = await open()
  const reported: (Outage | null)[] = []
  const report = await simulate({
    ...options,
    ...noon,
    onProgress: (progress) => {
      if (progress.cycleIndex % 12 === 0 && progress.cycleIndex < 36) service.outage = 2
    },
    onOutage: (outage) => reported.push(outage),
  })
  expect(reported.at(-1)).toBeNull()
  const outages = reported.filter((outage) => outage !== null)
  expect(outages).toHaveLength(report.totals.retries)
  for (const { outageMs, reason } of outages)
    expect([outageMs >= 0, reason]).toEqual([true, 'socket hang up'])
  expect(report.totals.retries).toBeGreaterThanOrEqual(2)
  expect(report.totals.cycles).toBe(36)
})

test('the last cycle removes the posts of the simulation, and none of them remain pending', async () => {
  const { service, options } = await open()
  const report = await simulate({ ...options, ...noon })
  expect(report.postsRemoved).toBeGreaterThan(0)
  expect(service.pendingCount).toBe(0)
  const { service: other, options: otherOptions } = await open()
  const kept = await simulate({ ...otherOptions, ...noon, keepPosts: true })
  expect(kept.postsRemoved).toBe(0)
  expect(other.pendingCount).toBe(report.postsRemoved)
})

describe('a server with data of other clients', () => {
  const cycle = (candidates: unknown[]): object => ({
    ...{ cycle_id: '20260105T1105', cycle_time: '2026-01-05T11:05:00+09:00' },
    ...{ candidates, engagement: [], candidate_scores: [], removals: [] },
  })
  const candidate = { gall_id: 'dcbest', post_no: 1, title: 't', created_at: null, extracted_at: null }

  test.each([
    ['posts', [candidate], /the service holds posts of gallery dcbest/],
    ['a cycle without posts', [], /the service holds cycle 20260105T1105/],
  ])('is refused when it holds %s, and nothing is sent to it', async (_what, candidates, message) => {
    const { service, options } = await open()
    service.cycle(cycle(candidates) as CycleRequest)
    const refused = simulate({ ...options, ...noon })
    await expect(refused).rejects.toMatchObject({
      kind: 'used',
      message: expect.stringMatching(message) as string,
    })
    expect(service.cyclesPosted).toBe(1)
  })

  test('is used with the option, and keeps the posts of the others', async () => {
    const { service, options } = await open()
    service.cycle(cycle([candidate]) as CycleRequest)
    const report = await simulate({ ...options, ...noon, intoUsedServer: true })
    expect(report.totals.cycles).toBe(36)
    expect(service.pendingCount).toBe(1)
  })
})

test('without faults each cycle is posted once', async () => {
  const { service, options } = await open()
  const report = await simulate({ ...options, ...noon, faults: false })
  expect(service.cyclesPosted).toBe(37)
  expect(report.totals).toMatchObject({ faults: 0, restarts: 0 })
})

test('a start is rounded down to a cycle boundary', async () => {
  const { service, options } = await open()
  const report = await simulate({ ...options, hours: 0.5, startAt: '2026-01-05T09:02:00+09:00' })
  expect(report.startAtMs).toBe(parseInstant('2026-01-05T09:00:00+09:00')?.ms)
  expect([...service.answers.keys()].slice(0, 2)).toEqual(['20260105T0905', '20260105T0910'])
})

test.each<[Violation, RegExp]>([
  ['replays differ', /SHA-256/],
  ['forgets a cycle', /GET \/v1\/scores\/.*: status/],
  ['changes a stored answer', /SHA-256/],
  ['loses a post', /^results/],
  ['keeps a removed post', /^results/],
  ['forgets images', /^PUT of image/],
  ['refuses its own cycle', /POST \/v1\/cycles: status/],
  ['miscounts outcomes', /POST \/v1\/outcomes: received/],
  ['changes its name', /^model_version$/],
  ['503 without Retry-After', /POST \/v1\/cycles: Retry-After/],
])('a service with a violation (%s) is detected', async (violation, path) => {
  const { service, options } = await open()
  service.violation = violation
  await expect(simulate({ ...options, ...noon })).rejects.toMatchObject({
    name: 'ContractViolation',
    path: expect.stringMatching(path) as string,
    cycleId: expect.stringMatching(/^\d{8}T\d{4}$/) as string,
  })
})

test('a refused key is said to be one', async () => {
  const { options } = await open()
  await expect(simulate({ ...options, apiKey: 'wrong' })).rejects.toMatchObject({ kind: 'unauthorized' })
})

test.each<[string, Partial<SimulationOptions>]>([
  ['no hours', { hours: 0 }],
  ['an invalid URL', { url: 'localhost' }],
  ['an empty key', { apiKey: '' }],
  ['a key that is not valid in a header', { apiKey: '열쇠' }],
  ['hours that are not a multiple of five minutes', { hours: 0.1 }],
  ['more posts than fit into a call', { postsPerDay: 5000 }],
  ['a negative speed', { speed: -1 }],
  ['no galleries', { galleries: 0 }],
  ['a start without an offset', { startAt: '2026-01-05T09:00:00' }],
  ['hours that are not a number', { hours: NaN }],
])('%s is refused before anything is sent', async (_what, over) => {
  const { options } = await open()
  await expect(simulate({ ...options, ...over })).rejects.toMatchObject({
    kind: 'options',
    option: Object.keys(over)[0],
  })
})
