/**
 * The operations of the contract as a client sees them. Each takes and gives plain values; a status or a shape
 * that the contract does not foresee is a `Breach`.
 */
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import typia from 'typia'
import type {
  CycleResponse,
  ErrorRecord,
  Health,
  Outcome,
  OutcomesResponse,
  WeightsState,
} from '../contract/index.js'
import { Breach, RehearsalError } from './breach.js'
import type { Abandonment, Call, HttpClient, Reply } from './http-client.js'
import type { Rng } from './rng.js'

const packed = promisify(gzip)

const isHealth = typia.createIs<Health>()
const isWeightsState = typia.createIs<WeightsState>()
const isOutcomesResponse = typia.createIs<OutcomesResponse>()
const isCycleResponse = typia.createIs<CycleResponse>()
const isErrorRecord = typia.createIs<ErrorRecord>()

export interface ApiOptions {
  /** Part of the larger JSON bodies that go out as gzip, 0 to 1. */
  readonly gzipShare: number
  /** Bodies below this size always go out as they are. */
  readonly gzipBytesMin: number
}

export class Api {
  /** The cycle under way, for what a `Breach` says. */
  cycleId: string | null = null

  constructor(
    readonly client: HttpClient,
    private readonly options: ApiOptions,
  ) {
    client.inspectRefusal = (call, reply) => this.checkRefusal(call, reply)
  }

  async health(): Promise<Health> {
    return this.jsonOf({ method: 'GET', path: '/v1/health' }, isHealth, 'Health')
  }

  async weights(): Promise<WeightsState> {
    return this.jsonOf({ method: 'GET', path: '/v1/weights' }, isWeightsState, 'WeightsState')
  }

  /** A call of `POST /v1/cycles` for a body, sent as gzip or not as chance and size decide. */
  cycleCall(body: Buffer, rng: Rng): Promise<Call> {
    return this.jsonCall('/v1/cycles', body, rng)
  }

  /** The answer to a cycle: a 200, with its bytes. A 409 comes back too, as the caller knows what it means. */
  async sendCycle(call: Call): Promise<Reply> {
    const reply = await this.client.send(call)
    return reply.status === 409 ? reply : this.json(call, reply)
  }

  abandon(call: Call, how: Abandonment): Promise<void> {
    return this.client.abandon(call, how)
  }

  /** The stored answer of a cycle, or null if there is none. */
  async storedAnswer(cycleId: string): Promise<Buffer | null> {
    const call: Call = { method: 'GET', path: `/v1/scores/${cycleId}` }
    const reply = await this.client.send(call)
    return reply.status === 404 ? null : this.json(call, reply).body
  }

  /** The galleries with rows in the stored answer of a cycle, or null if there is none. */
  async storedGalleries(cycleId: string): Promise<ReadonlySet<string> | null> {
    const answer = await this.storedAnswer(cycleId)
    if (answer === null) return null
    const value = parseJson(answer)
    if (!isCycleResponse(value)) {
      const path = `GET /v1/scores/${cycleId}: body`
      const got = answer.toString('utf8')
      throw new Breach({ path, expected: 'CycleResponse', got, cycleId: this.cycleId })
    }
    return new Set(value.results.map((row) => row.gall_id))
  }

  async isStored(cycleId: string): Promise<boolean> {
    const call: Call = { method: 'HEAD', path: `/v1/scores/${cycleId}` }
    const reply = await this.client.send(call)
    return reply.status !== 404 && this.allowed(call, reply, [200]).status === 200
  }

  /** created: 201. same: 200. */
  async putImage(
    image: { gallId: string; postNo: number; position: number },
    jpeg: Buffer,
  ): Promise<{ result: 'created' | 'same'; retryCount: number }> {
    const call = this.imageCall(image, jpeg)
    const reply = this.allowed(call, await this.client.send(call), [200, 201])
    return { result: reply.status === 201 ? 'created' : 'same', retryCount: reply.retryCount }
  }

  imageCall(image: { gallId: string; postNo: number; position: number }, jpeg: Buffer): Call {
    const { gallId, postNo, position } = image
    return {
      method: 'PUT',
      path: `/v1/images/${encodeURIComponent(gallId)}/${postNo}/${String(position).padStart(2, '0')}`,
      headers: {
        'content-type': 'image/jpeg',
        'x-content-sha256': createHash('sha256').update(jpeg).digest('hex'),
      },
      body: jpeg,
    }
  }

  async postOutcomes(
    outcomes: readonly Outcome[],
    rng: Rng,
  ): Promise<OutcomesResponse & { retryCount: number }> {
    const call = await this.jsonCall('/v1/outcomes', Buffer.from(JSON.stringify({ outcomes })), rng)
    const reply = this.json(call, await this.client.send(call))
    return {
      ...this.parsed(call, reply, isOutcomesResponse, 'OutcomesResponse'),
      retryCount: reply.retryCount,
    }
  }

  private async jsonCall(path: string, body: Buffer, rng: Rng): Promise<Call> {
    const asGzip = rng.chance(this.options.gzipShare) && body.length >= this.options.gzipBytesMin
    const type = { 'content-type': 'application/json' }
    if (!asGzip) return { method: 'POST', path, headers: type, body }
    // Level 1: a rehearsal shall not spend its time on packing.
    const gzipped = await packed(body, { level: 1 })
    return { method: 'POST', path, headers: { ...type, 'content-encoding': 'gzip' }, body: gzipped }
  }

  private async jsonOf<T>(call: Call, is: (value: unknown) => value is T, type: string): Promise<T> {
    return this.parsed(call, this.json(call, await this.client.send(call)), is, type)
  }

  private parsed<T>(call: Call, reply: Reply, is: (value: unknown) => value is T, type: string): T {
    const value = parseJson(reply.body)
    if (!is(value)) this.fail(call, 'body', type, reply.body.toString('utf8'))
    return value
  }

  private json(call: Call, reply: Reply): Reply {
    this.allowed(call, reply, [200])
    const type = reply.headers['content-type'] ?? 'none'
    if (!/^application\/json\b/i.test(type)) this.fail(call, 'Content-Type', 'application/json', type)
    return reply
  }

  /** The reply, if its status is one of `statuses`. */
  private allowed(call: Call, reply: Reply, statuses: readonly number[]): Reply {
    if (statuses.includes(reply.status)) return reply
    const record = parseJson(reply.body)
    const said = isErrorRecord(record) ? `${record.error.code}: ${record.error.message}` : 'no error record'
    if (reply.status === 401) {
      throw new RehearsalError('unauthorized', `${call.method} ${call.path}: ${said}`)
    }
    const [field] = isErrorRecord(record) ? (record.error.fields ?? []) : []
    const where = field === undefined ? '' : `; ${field.path}: ${field.problem}`
    this.fail(call, 'status', statuses.join(' or '), `${reply.status} (${said}${where})`)
  }

  /** A 503 of the service itself names its code and when to come back (decisions.md 7); a proxy's need not. */
  private checkRefusal(call: Call, reply: Omit<Reply, 'retryCount'>): void {
    const record = parseJson(reply.body)
    if (reply.status !== 503 || !isErrorRecord(record)) return
    const after = reply.headers['retry-after'] ?? 'none'
    if (record.error.code !== 'server_error') this.fail(call, 'error.code', 'server_error', record.error.code)
    if (!/^\d+$/.test(after)) this.fail(call, 'Retry-After', 'seconds', after)
  }

  fail(call: Call, what: string, expected: unknown, got: unknown): never {
    throw new Breach({ path: `${call.method} ${call.path}: ${what}`, expected, got, cycleId: this.cycleId })
  }
}

/** The value, or undefined if the bytes are no JSON. */
function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}
