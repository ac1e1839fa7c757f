/**
 * `/api/cycles`: the newest calls and the stored cycles, as lists that are read page by page; one stored cycle with its
 * counts; and its request and response to download.
 */
import { assert, outcomeCodes, ServiceError, type CycleResponse } from '../../contract/index.js'
import { unpackRequest } from '../../cycle/index.js'
import type { StoredCycle } from '../../store/index.js'
import type { Observer } from '../observer.js'
import type { Reply } from '../routes.js'
import type { AdminSources } from '../sources.js'
import { integerOf } from './picks.js'

const limitDefault = 100
const limitMax = 200

/** A part of a list, newest first. */
interface ListPage<Item> {
  readonly items: readonly Item[]
  /** Nothing older follows. */
  readonly is_last: boolean
}

interface StoredPage extends ListPage<StoredCycle> {
  /** Positions in the store. */
  readonly oldest: number
  readonly newest: number
}

/**
 * `list`: `calls` (of cycles, the default), `other` (refused and failed calls of other operations), or `stored` (cycles).
 * `before`: the `id` or `position` of the last item read; older ones follow. Throws `bad_request`.
 */
export function cycleLists({ store }: AdminSources, observer: Observer, query: URLSearchParams): object {
  const limit = integerOf(query, 'limit', { min: 1, max: limitMax, fallback: limitDefault })
  const anyMax = Number.MAX_SAFE_INTEGER
  const before = integerOf(query, 'before', { min: 0, max: anyMax, fallback: anyMax })
  const page = (): ListPage<object> => {
    switch (query.get('list') ?? 'calls') {
      case 'calls':
        return pageOf(observer.calls.items, before, limit)
      case 'other':
        return pageOf(observer.otherCalls.items, before, limit)
      case 'stored':
        return storedCycles(store, before, limit)
      default:
        throw new ServiceError('bad_request', 'list must be calls, other or stored')
    }
  }
  return { instance: observer.instance, ...page() }
}

function pageOf<Item extends { readonly id: number }>(
  all: readonly Item[],
  before: number,
  limit: number,
): ListPage<Item> {
  const older = all.filter(({ id }) => id < before)
  return { items: older.slice(-limit).reverse(), is_last: older.length <= limit }
}

/** Positions are consecutive, from the oldest cycle that has not expired. */
function storedCycles(store: AdminSources['store'], before: number, limit: number): StoredPage {
  const oldest = store.expiry.firstPosition()
  const newest = store.lastCycle()?.position ?? 0
  const end = Math.min(before, newest + 1)
  const first = Math.max(oldest, end - limit)
  const items: StoredCycle[] = []
  for (const cycle of store.tail(first)) {
    if (cycle.position >= end) break
    items.push(cycle)
  }
  return { items: items.reverse(), is_last: first <= oldest, oldest, newest }
}

/** The JSON of a request, as the client sent it. Throws `not_found`. */
export async function requestOf({ store }: AdminSources, cycleId: string): Promise<Reply> {
  const position = store.findCycle(cycleId)?.position
  const request = position === undefined ? undefined : store.readRequest(position)
  if (request === undefined) throw notStored()
  return download(await unpackRequest(request), `${cycleId}-request.json`)
}

/**
 * A stored response without its results, and these counted by reason. It has one row per pending post, so only what
 * precedes the rows is parsed.
 */
export function storedCycle({ store }: AdminSources, cycleId: string): object {
  const response = store.readResponse(cycleId)
  if (response === undefined) throw notStored()
  const bytes = Buffer.from(response.buffer, response.byteOffset, response.length)
  const end = bytes.indexOf(',"results":[')
  assert(end > 0, 'a response has results')
  const head = JSON.parse(`${bytes.toString('utf8', 0, end)}}`) as Omit<CycleResponse, 'results'>
  const reasons = outcomeCodes.flatMap(({ reason }) => reason ?? [])
  // Within a string of JSON the quotation marks are escaped.
  const count = (reason: string): number => occurrences(bytes, `,"reason":"${reason}"}`, end)
  return { ...head, reasons: reasons.map((reason) => ({ reason, count: count(reason) })) }
}

function occurrences(bytes: Buffer, text: string, start: number): number {
  let count = 0
  for (let at = bytes.indexOf(text, start); at >= 0; at = bytes.indexOf(text, at + text.length)) count++
  return count
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
