/**
 * `/api/cycles`: the newest calls and the stored cycles, as lists that are read page by page; one stored cycle with its
 * counts; and its request and response to download.
 */
import {
  assert,
  outcome,
  outcomeCodes,
  ServiceError,
  type CycleResponse,
  type ListedCycle,
  type ListPage,
  type StoredPage,
  type StoredResponse,
} from '../../contract/index.js'
import { unpackRequest } from '../../cycle/index.js'
import { readCycleHeader, readCycleTable } from '../../records/index.js'
import type { ServerSources } from '../../server/index.js'
import type { Observer } from '../observer.js'
import type { Reply } from '../routes.js'
import { integerOf } from './picks.js'

const limitDefault = 100
const limitMax = 200

/**
 * `list`: `calls` (of cycles, the default), `other` (refused and failed calls of other operations), or `stored` (cycles).
 * `before`: the `id` or `position` of the last item read; older ones follow. Throws `bad_request`.
 */
export function cycleLists(
  { store }: ServerSources,
  observer: Observer,
  query: URLSearchParams,
): ListPage<object> {
  const limit = integerOf(query, 'limit', { min: 1, max: limitMax, fallback: limitDefault })
  const anyMax = Number.MAX_SAFE_INTEGER
  const before = integerOf(query, 'before', { min: 0, max: anyMax, fallback: anyMax })
  const { instance } = observer
  const recorded = (all: Observer['calls']): ListPage<object> => {
    const older = all.items.filter(({ id }) => id < before)
    return { instance, items: older.slice(-limit).reverse(), is_last: older.length <= limit }
  }
  switch (query.get('list') ?? 'calls') {
    case 'calls':
      return recorded(observer.calls)
    case 'other':
      return recorded(observer.otherCalls)
    case 'stored':
      return { instance, ...storedCycles(store, before, limit) }
    default:
      throw new ServiceError({ code: 'unknown_list' })
  }
}

/** Positions are consecutive, from the oldest cycle that has not expired. */
function storedCycles(
  store: ServerSources['store'],
  before: number,
  limit: number,
): Omit<StoredPage, 'instance'> {
  const oldest = store.expiry.firstPosition()
  const newest = store.lastCycle()?.position ?? 0
  const end = Math.min(before, newest + 1)
  const first = Math.max(oldest, end - limit)
  const items: ListedCycle[] = []
  for (const cycle of store.tail(first)) {
    if (cycle.position >= end) break
    items.push(cycle)
  }
  return { items: items.reverse(), is_last: first <= oldest, oldest, newest }
}

/** The JSON of a request, as the client sent it. Throws `not_found`. */
export async function requestOf({ store }: ServerSources, cycleId: string): Promise<Reply> {
  const position = store.findCycle(cycleId)?.position
  const request = position === undefined ? undefined : store.readRequest(position)
  if (request === undefined) throw notStored()
  return download(await unpackRequest(request), `${cycleId}-request.json`)
}

/**
 * A stored response without its results, and these counted by reason. It has one row per pending post, so only what
 * precedes the rows is parsed; warnings and outcomes are those of the record.
 */
export function storedCycle({ store }: ServerSources, cycleId: string): StoredResponse {
  const position = store.findCycle(cycleId)?.position
  const record = position === undefined ? undefined : store.readRecord(position)
  const response = store.readResponse(cycleId)
  if (record === undefined || response === undefined) throw notStored()
  const bytes = Buffer.from(response.buffer, response.byteOffset, response.length)
  const end = bytes.indexOf(',"results":[')
  assert(end > 0, 'a response has results')
  const head = JSON.parse(`${bytes.toString('utf8', 0, end)}}`) as Omit<CycleResponse, 'results'>
  const results = readCycleTable(record, 'results')
  const reasons = outcomeCodes.flatMap(({ reason }, code) => {
    if (reason === null) return []
    // The record has a row for each pending post; the other results are of unknown ones.
    const count =
      code === outcome.unknownPost
        ? head.counts.results - results.count
        : results.outcome.filter((each) => each === code).length
    return { reason, count }
  })
  return { ...head, warnings: readCycleHeader(record).warnings, reasons }
}

export function responseOf({ store }: ServerSources, cycleId: string): Reply {
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
  return new ServiceError({ code: 'not_stored' })
}
