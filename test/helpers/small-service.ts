/**
 * A small service in memory that implements the part of the contract that the simulator uses. A test can make it violate
 * the contract in one way.
 */
import { createHash } from 'node:crypto'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import type { Candidate, CycleRequest, ResultRow } from '../../src/contract/index.js'

export type Violation =
  | 'replays differ'
  | 'loses a cycle'
  | 'changes a stored response'
  | 'loses a post'
  | 'keeps a removed post'
  | 'loses images'
  | 'refuses its own cycle'
  | 'miscounts outcomes'
  | 'changes its model version'
  | '503 without Retry-After'

interface Reply {
  status: number
  body: unknown
  headers?: Record<string, string>
}

export class SmallService {
  violation: Violation | null = null
  /** Number of requests whose connection is closed without a response. */
  outage = 0
  cyclesPosted = 0
  readonly responses = new Map<string, string>()
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
      return errorReply(401, 'unauthorized')
    }
    switch (resource) {
      case 'health':
        return { status: 200, body: this.health() }
      case 'weights':
        return { status: 200, body: { current: weights, previous: null } }
      case 'images':
        return this.putImage(request, body)
      case 'scores':
        return this.stored(name!)
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
    const key = request.url!
    if (request.headers['x-content-sha256'] !== sha256) return errorReply(400, 'bad_request')
    const known = this.images.get(key)
    if (known !== undefined && known !== sha256) return errorReply(409, 'conflict')
    if (this.violation !== 'loses images') this.images.set(key, sha256)
    return { status: known === undefined ? 201 : 200, body: {} }
  }

  private stored(cycleId: string): Reply {
    const text = this.responses.get(cycleId)
    if (text === undefined || (this.violation === 'loses a cycle' && this.responses.size > 3)) {
      return errorReply(404, 'not_found')
    }
    const changed = this.violation === 'changes a stored response' && cycleId !== this.lastCycleId
    return { status: 200, body: changed ? text.replace('"m1"', '"m2"') : text }
  }

  get pendingCount(): number {
    return this.pending.size
  }

  cycle(request: CycleRequest): Reply {
    this.cyclesPosted++
    const body = canonical(request)
    const before = this.responses.get(request.cycle_id)
    if (before !== undefined) {
      if (this.bodies.get(request.cycle_id) !== body || this.violation === 'refuses its own cycle') {
        return errorReply(409, 'conflict')
      }
      return { status: 200, body: this.violation === 'replays differ' ? `${before} ` : before }
    }
    if (this.violation === '503 without Retry-After') return errorReply(503, 'server_error')
    const text = JSON.stringify(this.newResponse(request))
    this.responses.set(request.cycle_id, text)
    this.bodies.set(request.cycle_id, body)
    this.lastCycleId = request.cycle_id
    return { status: 200, body: text }
  }

  private newResponse(request: CycleRequest): object {
    for (const candidate of request.candidates) this.pending.set(keyOf(candidate), candidate)
    if (this.violation !== 'keeps a removed post') {
      for (const removal of request.removals) this.pending.delete(keyOf(removal))
    }
    if (this.violation === 'loses a post' && this.pending.size > 9) {
      this.pending.delete([...this.pending.keys()][4]!)
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
      model_version: this.violation === 'changes its model version' && this.responses.size > 5 ? 'm2' : 'm1',
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

function errorReply(status: number, code: string): Reply {
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
