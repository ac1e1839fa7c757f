/**
 * `/api/picks`: the pending posts by rank, in windows, with what the page shows of each; and the operators' latest saves.
 */
import { hourMs } from '../../base/index.js'
import {
  averageRank,
  counterNames,
  countsInSorted,
  headNames,
  outcomeCodes,
  ServiceError,
  sourceCodes,
  type CounterName,
  type Picks,
  type PostFacts,
  type Save,
  type ScoreFacts,
} from '../../contract/index.js'
import { gallIdAt, type PoolState } from '../../pool/index.js'
import type { ServerSources } from '../../server/index.js'
import type { ObservedSave, Observer } from '../observer.js'
import { numberOrNull, type Track } from '../score-tracks.js'
import { imagesOf } from './images.js'
import { searchText } from './search-text.js'
import type { Titles } from './titles.js'

export interface PicksQuery {
  readonly offset: number
  readonly limit: number
  /** Gallery ids; empty: all. */
  readonly galleries: readonly string[]
  /** Part of the title, the gallery or the number, without regard to case; empty: all. */
  readonly search: string
  /** `newest`: those that entered last come first. */
  readonly order: 'rank' | 'newest'
}

const savesShown = 50
const limitDefault = 100
const limitMax = 500
const searchCharsMax = 200

/** Throws `bad_request` for values that are not in range. */
export function picksQuery(query: URLSearchParams): PicksQuery {
  return {
    offset: integerOf(query, 'offset', { min: 0, max: 10_000_000, fallback: 0 }),
    limit: integerOf(query, 'limit', { min: 1, max: limitMax, fallback: limitDefault }),
    galleries: query.getAll('gallery'),
    search: searchText((query.get('q') ?? '').slice(0, searchCharsMax).trim()),
    order: query.get('order') === 'newest' ? 'newest' : 'rank',
  }
}

export function integerOf(
  query: URLSearchParams,
  name: string,
  { min, max, fallback }: { readonly min: number; readonly max: number; readonly fallback: number },
): number {
  const text = query.get(name)
  if (text === null) return fallback
  const value = Number(text)
  if (/^\d{1,15}$/.test(text) && value >= min && value <= max) return value
  throw new ServiceError({ code: 'out_of_range', name, min, max })
}

export interface PicksParts {
  readonly sources: ServerSources
  readonly observer: Observer
  readonly titles: Titles
}

/** Rejects with the reason of `gone` when that is aborted while titles are read. */
export async function picks(
  { sources, observer, titles }: PicksParts,
  query: PicksQuery,
  gone: AbortSignal,
): Promise<Picks> {
  const { cycles } = sources
  const rank = (): Ranking => {
    const [pool, track] = [cycles.pool, observer.tracks.last]
    return { pool, track, ranked: rankedSlots(pool, track, titles, query) }
  }
  // A search reads all titles before it filters; otherwise those of the window suffice.
  if (query.search !== '') await titles.read(Array(cycles.pool.count).keys(), gone)
  const before = rank()
  await titles.read(windowOf(before.ranked, query), gone)
  const saves = observer.saves.items.slice(-savesShown).reverse()
  const savedEntries = saves.flatMap(({ entry }) => entry ?? [])
  await titles.readEntries(savedEntries, gone)
  // A cycle may have run meanwhile.
  const isCurrent = before.pool === cycles.pool && before.track === observer.tracks.last
  const { pool, track, ranked } = isCurrent ? before : rank()
  const tracks = observer.tracks.all
  const nowMs = sources.clock()
  return {
    cycle_id: track?.cycleId ?? null,
    model_version: track?.modelVersion ?? null,
    weights_version: track?.weightsVersion ?? null,
    pending: pool.count,
    scored: track === undefined ? 0 : track.scores.length,
    matching: ranked.length,
    offset: query.offset,
    galleries: [...pool.galleries].sort(),
    picks: windowOf(ranked, query).map((slot) => ({
      ...postFacts(pool, slot, nowMs),
      ...scoreFacts(track, pool, slot),
      title: titles.of(pool, slot),
      sparkline: tracks.map((one) => {
        const trackSlot = one.find(gallIdAt(pool, slot), pool.postNo[slot]!)
        return trackSlot < 0 ? null : one.scoreAt(trackSlot)
      }),
      images: imagesOf(sources, { gallId: gallIdAt(pool, slot), postNo: pool.postNo[slot]! }, 1),
    })),
    started_at: new Date(performance.timeOrigin).toISOString(),
    saves: saves.map((save) => rankedSave(save, titles)),
  }
}

function rankedSave({ scores, entry, ...save }: ObservedSave, titles: Titles): Save {
  const { score } = save
  const rank = score === null ? null : averageRank(countsInSorted(scores.slice().sort(), score))
  const title = entry === null ? null : titles.at(entry)
  return { ...save, title, rank, of: scores.length }
}

interface Ranking {
  readonly pool: PoolState
  readonly track: Track | undefined
  /** Slots. */
  readonly ranked: readonly number[]
}

function windowOf(slots: readonly number[], { offset, limit }: PicksQuery): readonly number[] {
  return slots.slice(offset, offset + limit)
}

/** Slots of the pool that match, by descending score, those without a score in order of entry; or the newest first. */
function rankedSlots(
  pool: PoolState,
  track: Track | undefined,
  titles: Titles,
  { galleries, search, order }: PicksQuery,
): number[] {
  const scores = Float64Array.from(
    { length: pool.count },
    (_, slot) => scoreOf(track, pool, slot) ?? -Infinity,
  )
  const wanted = new Set(galleries)
  const matches = (slot: number): boolean => {
    const gallId = gallIdAt(pool, slot)
    if (wanted.size > 0 && !wanted.has(gallId)) return false
    if (search === '') return true
    const text = `${gallId}/${pool.postNo[slot]!} ${titles.of(pool, slot) ?? ''}`
    return searchText(text).includes(search)
  }
  const matching = [...scores.keys()].filter(matches)
  if (order === 'newest') return matching.reverse()
  return matching.sort((a, b) => scores[b]! - scores[a]! || a - b)
}

/** In most cases the slots of the pool are the rows of the last track. */
function slotIn(track: Track, pool: PoolState, slot: number): number {
  return track.findNear(gallIdAt(pool, slot), pool.postNo[slot]!, slot)
}

function scoreOf(track: Track | undefined, pool: PoolState, slot: number): number | null {
  if (track === undefined) return null
  const row = slotIn(track, pool, slot)
  return row < 0 ? null : track.scoreAt(row)
}

/** Score, rank among all scored posts, heads and outcome in the last cycle. */
export function scoreFacts(track: Track | undefined, pool: PoolState, slot: number): ScoreFacts {
  const row = track === undefined ? -1 : slotIn(track, pool, slot)
  if (track === undefined || row < 0) return { score: null, rank: null, status: null, reason: null }
  const { status, reason } = outcomeCodes[track.outcomeAt(row)] ?? { status: null, reason: null }
  return {
    score: track.scoreAt(row),
    rank: track.rankAt(row).rank,
    status,
    reason,
    ...Object.fromEntries(headNames.map((name) => [name, track.headAt(name, row)])),
  }
}

/** What the pool knows of a post: counters of the last reading, rates per hour since the one before. */
export function postFacts(
  pool: PoolState,
  slot: number,
  nowMs: number,
): Omit<PostFacts, keyof ScoreFacts | 'images'> {
  const { posts, latest, previous } = pool
  const hours = (latest.observedAtMs[slot]! - previous.observedAtMs[slot]!) / hourMs
  const ofCounters = (valueOf: (name: CounterName) => number): PostFacts['counters'] =>
    Object.fromEntries(counterNames.map((name) => [name, numberOrNull(valueOf(name))]))
  const rateOf = (name: CounterName): number => (latest[name][slot]! - previous[name][slot]!) / hours
  const createdAtMs = posts.createdAtMs[slot]!
  return {
    gall_id: gallIdAt(pool, slot),
    post_no: pool.postNo[slot]!,
    source: sourceCodes[posts.source[slot]!] ?? null,
    created_at: timeOrNull(createdAtMs),
    extracted_at: timeOrNull(posts.extractedAtMs[slot]!),
    age_s: numberOrNull(Math.round((nowMs - createdAtMs) / 1000)),
    observed_at: timeOrNull(latest.observedAtMs[slot]!),
    counters: ofCounters((name) => latest[name][slot]!),
    rates_per_hour: ofCounters(rateOf),
  }
}

function timeOrNull(ms: number): string | null {
  return Number.isFinite(ms) ? new Date(ms).toISOString() : null
}
