/**
 * The operations of the contract as a client calls them, with plain values. A status or a shape that the contract
 * does not allow is a `ContractViolation`.
 */
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import typia from 'typia'
import {
  isDateTime,
  parseInstant,
  type CycleResponse,
  type ErrorRecord,
  type Health,
  type Outcome,
  type OutcomesResponse,
  type WeightsState,
} from '../contract/index.js'
import { ContractViolation, SimulationError } from './errors.js'
import type { Call, HttpClient, Reply } from './http-client.js'
import type { Upload } from './base-images.js'
import type { Rng } from './rng.js'

// The validators that typia generates here call it by name.
export { isDateTime }

const compress = promisify(gzip)

const isHealth = typia.createIs<Health>()
const isWeightsState = typia.createIs<WeightsState>()
const isOutcomesResponse = typia.createIs<OutcomesResponse>()
const isCycleResponse = typia.createIs<CycleResponse>()
const isErrorRecord = typia.createIs<ErrorRecord>()

/** Half of the JSON bodies of at least this size are sent as gzip. */
const gzipBytesMin = 16 * 1024
const gzipShare = 0.5

type ImageKey = Pick<Upload, 'gallId' | 'postNo' | 'position'>

export class Api {
  /** The current cycle, for the message of a `ContractViolation`. */
  cycleId: string | null = null

  constructor(readonly client: HttpClient) {
    client.inspectRefusal = (call, reply) => this.checkRefusal(call, reply)
  }

  async health(): Promise<Health> {
    return this.read('/v1/health', isHealth, 'Health')
  }

  async weights(): Promise<WeightsState> {
    return this.read('/v1/weights', isWeightsState, 'WeightsState')
  }

  /** A `POST /v1/cycles` call for a body, with or without gzip by size and chance. */
  cycleCall(body: Buffer, rng: Rng): Promise<Call> {
    return this.jsonCall('/v1/cycles', body, rng)
  }

  /** The response to a cycle: 200, or 409, which the caller interprets. */
  async sendCycle(call: Call): Promise<Reply> {
    const reply = await this.client.send(call)
    return reply.status === 409 ? reply : this.json(call, reply)
  }

  /** The stored response of a cycle, or null if there is none. */
  async storedResponse(cycleId: string): Promise<Buffer | null> {
    const call: Call = { method: 'GET', path: `/v1/scores/${cycleId}` }
    const reply = await this.client.send(call)
    return reply.status === 404 ? null : this.json(call, reply).body
  }

  /** Time and galleries of a stored cycle, or null if it is not stored. */
  async storedResult(cycleId: string): Promise<{ cycleAtMs: number; galleries: string[] } | null> {
    const body = await this.storedResponse(cycleId)
    if (body === null) return null
    const call: Call = { method: 'GET', path: `/v1/scores/${cycleId}` }
    const { cycle_time, results } = this.parsed(call, body, isCycleResponse, 'CycleResponse')
    const cycleAtMs = parseInstant(cycle_time)?.ms ?? NaN
    return { cycleAtMs, galleries: [...new Set(results.map((row) => row.gall_id))] }
  }

  async isStored(cycleId: string): Promise<boolean> {
    const call: Call = { method: 'HEAD', path: `/v1/scores/${cycleId}` }
    const reply = await this.client.send(call)
    return reply.status !== 404 && this.allowed(call, reply, [200]).status === 200
  }

  /** 201 for a new image, 200 for one that the service has stored. */
  async putImage(image: ImageKey, jpeg: Buffer): Promise<Reply> {
    const call = this.imageCall(image, jpeg)
    return this.allowed(call, await this.client.send(call), [200, 201])
  }

  imageCall({ gallId, postNo, position }: ImageKey, jpeg: Buffer): Call {
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
      ...this.parsed(call, reply.body, isOutcomesResponse, 'OutcomesResponse'),
      retryCount: reply.retryCount,
    }
  }

  private async jsonCall(path: string, body: Buffer, rng: Rng): Promise<Call> {
    const asGzip = rng.chance(gzipShare) && body.length >= gzipBytesMin
    const type = { 'content-type': 'application/json' }
    if (!asGzip) return { method: 'POST', path, headers: type, body }
    // Level 1, because the client should not spend its time on compression.
    const gzipped = await compress(body, { level: 1 })
    return { method: 'POST', path, headers: { ...type, 'content-encoding': 'gzip' }, body: gzipped }
  }

  private async read<T>(path: string, is: (value: unknown) => value is T, type: string): Promise<T> {
    const call: Call = { method: 'GET', path }
    return this.parsed(call, this.json(call, await this.client.send(call)).body, is, type)
  }

  private parsed<T>(call: Call, body: Buffer, is: (value: unknown) => value is T, type: string): T {
    const value = parseJson(body)
    if (!is(value)) this.fail(call, 'body', type, body.toString('utf8'))
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
    const text = isErrorRecord(record) ? `${record.error.code}: ${record.error.message}` : 'no error record'
    if (reply.status === 401) {
      throw new SimulationError('unauthorized', `${call.method} ${call.path}: ${text}`)
    }
    const [field] = isErrorRecord(record) ? (record.error.fields ?? []) : []
    const where = field === undefined ? '' : `; ${field.path}: ${field.problem}`
    this.fail(call, 'status', statuses.join(' or '), `${reply.status} (${text}${where})`)
  }

  /** A 503 of the service has an error code and Retry-After (decisions.md 7); that of a proxy need not. */
  private checkRefusal(call: Call, reply: Omit<Reply, 'retryCount'>): void {
    const record = parseJson(reply.body)
    if (reply.status !== 503 || !isErrorRecord(record)) return
    const after = reply.headers['retry-after'] ?? 'none'
    if (record.error.code !== 'server_error') this.fail(call, 'error.code', 'server_error', record.error.code)
    if (!/^\d+$/.test(after)) this.fail(call, 'Retry-After', 'seconds', after)
  }

  violation(path: string, expected: unknown, got: unknown): never {
    throw new ContractViolation(path, expected, got, this.cycleId)
  }

  fail(call: Call, what: string, expected: unknown, got: unknown): never {
    this.violation(`${call.method} ${call.path}: ${what}`, expected, got)
  }
}

/** The value, or undefined if the bytes are not JSON. */
function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}
