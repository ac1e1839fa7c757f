/**
 * `/api/cycles`: the flight recorder of the newest calls and the stored cycles; and the request and the response of one
 * cycle to download.
 */
import { ServiceError } from '../../contract/index.js'
import { unpackRequest } from '../../cycle/index.js'
import type { StoredCycle } from '../../store/index.js'
import type { CallRecord, Observer } from '../observer.js'
import type { Reply } from '../routes.js'
import type { AdminSources } from '../sources.js'
import { integerOf } from './picks.js'

const limitDefault = 100
const limitMax = 200

/** Newest first. `before`: only calls with a smaller id, and cycles that were stored earlier. */
export function calls({ store }: AdminSources, observer: Observer, query: URLSearchParams): object {
  const limit = integerOf(query, 'limit', { min: 1, max: limitMax, fallback: limitDefault })
  const before = integerOf(query, 'before', {
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    fallback: Number.MAX_SAFE_INTEGER,
  })
  const stored = integerOf(query, 'stored_before', {
    min: 1,
    max: Number.MAX_SAFE_INTEGER,
    fallback: Number.MAX_SAFE_INTEGER,
  })
  const page = (all: readonly CallRecord[]): CallRecord[] =>
    all
      .filter(({ id }) => id < before)
      .slice(-limit)
      .reverse()
  return {
    calls: page(observer.calls.items),
    other_calls: page(observer.otherCalls.items),
    stored: storedCycles(store, limit, stored),
  }
}

function storedCycles(store: AdminSources['store'], limit: number, before: number): StoredCycle[] {
  const end = Math.min(before, (store.lastCycle()?.position ?? 0) + 1)
  const first = Math.max(store.expiry.firstPosition(), end - limit)
  const found: StoredCycle[] = []
  for (const cycle of store.tail(first)) {
    if (cycle.position >= end) break
    found.push(cycle)
  }
  return found.reverse()
}

/** The JSON of a request, as the client sent it. Throws `not_found`. */
export async function requestOf({ store }: AdminSources, cycleId: string): Promise<Reply> {
  const position = store.findCycle(cycleId)?.position
  const request = position === undefined ? undefined : store.readRequest(position)
  if (request === undefined) throw notStored()
  return download(await unpackRequest(request), `${cycleId}-request.json`)
}

export function responseOf({ store }: AdminSources, cycleId: string): Reply {
  const response = store.readResponse(cycleId)
  if (response === undefined) throw notStored()
  return download(response, `${cycleId}-response.json`)
}

function download(body: Uint8Array, name: string): Reply {
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Disposition': `attachment; filename="${name}"`,
  }
  return { status: 200, headers, body }
}

function notStored(): ServiceError {
  return new ServiceError('not_found', 'the store has no such cycle')
}
