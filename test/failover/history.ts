/**
 * What the clients of a failover test saw: each attempt of each call, when it began and ended, and what came back. The
 * checker reads nothing else, apart from what the journal holds in the end.
 */
import { createHash } from 'node:crypto'
import { parseInstant, type CycleResponse, type OutcomesResponse } from '../../src/contract/index.js'
import type { Reply, Call } from '../harness/http.js'

/** The operation of a call. */
export type Operation =
  | { readonly kind: 'cycle' | 'scores'; readonly cycleId: string }
  | { readonly kind: 'image'; readonly path: string }
  | { readonly kind: 'outcomes'; readonly placementIds: readonly string[] }
  | { readonly kind: 'weights'; readonly version: string }
  | { readonly kind: 'current weights' }

/** The contents of a successful response. */
export interface Content {
  /** SHA-256 of the body. */
  readonly sha256: string
  /** Of a cycle. */
  readonly labels?: { readonly cycleMs: number; readonly model: string; readonly weights: string }
  /** Of outcomes: the number of new ones. */
  readonly created?: number
  /** Of weights that were set. */
  readonly firstCycleMs?: number
  /** Of weights that were read. */
  readonly version?: string
}

export interface Attempt {
  readonly operation: Operation
  /** SHA-256 of the request's body; null: none. */
  readonly sent: string | null
  /** `balancer`, or the name of the process that was called directly. */
  readonly via: string
  /** Milliseconds of one monotonic clock. */
  readonly startedMs: number
  /** Null until there is a response. */
  endedMs: number | null
  /** Null: the connection ended without a response. */
  status: number | null
  /** Of a 200 or 201. */
  content: Content | null
}

/** From a fault to the end of the first new cycle that was sent after it and acknowledged. */
export interface Outage {
  readonly fault: string
  readonly startedMs: number
  readonly limitMs: number
  readyMs: number | null
}

/** What the journal holds. */
export interface StoredJournal {
  readonly cycles: readonly { readonly cycleId: string; readonly position: number }[]
  /** Of each entry, in order. */
  readonly entries: readonly { readonly number: number; readonly epoch: number }[]
}

export interface History {
  readonly attempts: readonly Attempt[]
  readonly outages: readonly Outage[]
  /** While the database's clock is wrong, a process that has lost its lease may serve earlier reads. */
  readonly staleReads: readonly { readonly fromMs: number; readonly toMs: number }[]
  /** Everything acknowledged was read again after this time. */
  readonly readAgainMs: number
  readonly stored: StoredJournal
}

export function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64url')
}

export function operationOf({ method, path, body }: Call): Operation {
  if (path.startsWith('/v1/scores/')) return { kind: 'scores', cycleId: path.slice('/v1/scores/'.length) }
  if (path.startsWith('/v1/images/')) return { kind: 'image', path }
  if (method === 'GET') return { kind: 'current weights' }
  const json = JSON.parse(Buffer.from(body ?? []).toString()) as {
    cycle_id: string
    version: string
    outcomes: { placement_id: string }[]
  }
  if (path === '/v1/cycles') return { kind: 'cycle', cycleId: json.cycle_id }
  if (path === '/v1/weights') return { kind: 'weights', version: json.version }
  return { kind: 'outcomes', placementIds: json.outcomes.map((outcome) => outcome.placement_id) }
}

/** The result in a response to `operation`; null if it is not a success. */
export function contentOf(operation: Operation, { status, body }: Reply): Content | null {
  if (status !== 200 && status !== 201) return null
  const sha256 = sha256Of(body)
  const json: unknown = JSON.parse(body.toString())
  switch (operation.kind) {
    case 'cycle':
    case 'scores': {
      const { cycle_time, model_version, weights_version } = json as CycleResponse
      const cycleMs = msOf(cycle_time)
      return { sha256, labels: { cycleMs, model: model_version, weights: weights_version } }
    }
    case 'image':
      return { sha256 }
    case 'outcomes':
      return { sha256, created: (json as OutcomesResponse).created }
    case 'weights':
      return { sha256, firstCycleMs: msOf((json as { first_cycle_time: string }).first_cycle_time) }
    case 'current weights':
      return { sha256, version: (json as { current: { version: string } }).current.version }
  }
}

function msOf(text: string): number {
  return parseInstant(text)?.ms ?? NaN
}
