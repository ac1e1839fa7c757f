/**
 * The visits of an export. Follows entries and departures of all stored cycles in order of arrival, so that a visit that began
 * before the exported cycles has its beginning, and one that ended after them its fate.
 */
import type { Codec } from '../../codec/index.js'
import {
  absentCode,
  galleryTypeCodes,
  sourceCodes,
  type Candidate,
  type CycleColumns,
} from '../../contract/index.js'
import { readCandidates, savedDepartures, savedEntries } from '../../cycle/index.js'
import type { Position, Store, StoredCycle } from '../../store/index.js'
import { readBody } from '../records.js'
import type { PostNumbers } from './post-numbers.js'
import type { Staging } from './staging.js'
import { dayOf, groupBy, instantOf } from './values.js'

interface Visit {
  readonly post: number
  /** Position of the cycle that brought the post, -1 where it has expired; its row there, or the candidate itself. */
  readonly entered: Position
  readonly row: number
  readonly candidate: Uint8Array | null
  end: {
    readonly position: Position
    readonly reason: number
    readonly tier: number
    decidedAt: number
  } | null
}

export interface VisitOptions {
  readonly codec: Codec
  readonly staging: Staging
  readonly fromMs: number
  readonly toMs: number
  readonly texts: boolean
}

/** Visits that are staged at a time: their candidates are in memory. */
const visitsPerStep = 2000

export class VisitTracker {
  readonly #store: Store
  readonly #options: VisitOptions
  readonly #posts: PostNumbers
  readonly #visits: Visit[] = []
  readonly #open = new Map<number, Visit>()
  /** `cycle_time` of the cycles by position. */
  readonly #cycleMs = new Map<Position, number>()
  #endedNow = new Map<number, Position>()

  private constructor(store: Store, options: VisitOptions, posts: PostNumbers) {
    this.#store = store
    this.#options = options
    this.#posts = posts
  }

  /** Reads the entries of expired cycles that are kept for pending posts. */
  static async open(store: Store, options: VisitOptions, posts: PostNumbers): Promise<VisitTracker> {
    const tracker = new VisitTracker(store, options, posts)
    for (const position of store.expiry.keptEntries(Number.MAX_SAFE_INTEGER)) {
      const { cycleId, cycleAt } = options.codec.decodeCycle(await readBody(store, position))
      tracker.#cycleMs.set(position, cycleAt.ms)
      const expired = { receivedMs: NaN, modelVersion: null, weightsVersion: null }
      options.staging.addPosition(position, { cycleId, cycleMs: cycleAt.ms, ...expired })
      tracker.#enter(position)
    }
    return tracker
  }

  /** Adds the next cycle in order of arrival. `cycle` and `json`: its request, or null where it is not exported. */
  add(stored: StoredCycle, cycle: CycleColumns | null, json: Uint8Array | null): void {
    const { position, cycleId, cycleAtMs, modelVersion, weightsVersion } = stored
    this.#cycleMs.set(position, cycleAtMs)
    const receivedMs = Date.parse(stored.receivedAt)
    const labels = { cycleId, cycleMs: cycleAtMs, receivedMs, modelVersion, weightsVersion }
    this.#options.staging.addPosition(position, labels)
    this.#endedNow = new Map()
    const departures = savedDepartures(this.#store.readLeft(position))
    for (const [row, gallId] of (departures?.gallIds ?? []).entries()) {
      const post = this.#posts.number(gallId, departures?.postNo[row] as number)
      const visit = this.#open.get(post) ?? this.#briefVisit(post, position, cycle, json)
      visit.end = {
        position,
        reason: departures?.reason[row] as number,
        tier: departures?.tier[row] as number,
        decidedAt: departures?.decidedAtMs[row] as number,
      }
      this.#open.delete(post)
      this.#endedNow.set(post, visit.entered)
    }
    this.#enter(position)
  }

  /** Position of the cycle that brought a post that is pending after the cycle that was added last; -1 where it is unknown. */
  enteredOf(post: number): Position {
    return this.#open.get(post)?.entered ?? -1
  }

  /** The visits that ended with that cycle: `entered` by post. */
  get endedNow(): ReadonlyMap<number, Position> {
    return this.#endedNow
  }

  /** Stages the visits that were open during one of the exported cycles, or ended with one. */
  async stage(): Promise<void> {
    const { fromMs, toMs } = this.#options
    const chosen = this.#visits.filter(({ entered, end }) => {
      const began = this.#cycleMs.get(entered) ?? -Infinity
      const ended = end === null ? Infinity : (this.#cycleMs.get(end.position) ?? Infinity)
      return began <= toMs && ended >= fromMs
    })
    for (let from = 0; from < chosen.length; from += visitsPerStep)
      await this.#stageSome(chosen.slice(from, from + visitsPerStep))
  }

  #enter(position: Position): void {
    const entries = savedEntries(this.#store.readEntered(position))
    for (const [row, gallId] of (entries?.gallIds ?? []).entries()) {
      const post = this.#posts.number(gallId, entries?.postNo[row] as number)
      const visit = { post, entered: position, row, candidate: null, end: null }
      this.#visits.push(visit)
      this.#open.set(post, visit)
    }
  }

  /** A visit without an entry: of a post that came and left with one call, or whose entry has expired. */
  #briefVisit(post: number, position: Position, cycle: CycleColumns | null, json: Uint8Array | null): Visit {
    const row = cycle === null ? -1 : this.#posts.numbers(cycle.candidates, cycle.galleries).indexOf(post)
    const start = cycle?.candidates.rowStart[row]
    const candidate = json?.slice(start, cycle?.candidates.rowEnd[row]) ?? null
    const visit =
      start === undefined
        ? { post, entered: -1, row: -1, candidate: null, end: null }
        : { post, entered: position, row: -1, candidate, end: null }
    this.#visits.push(visit)
    return visit
  }

  async #stageSome(visits: readonly Visit[]): Promise<void> {
    const candidates = await this.#candidatesOf(visits)
    const days = groupBy(visits.keys(), (index) => {
      const { entered, end } = visits[index] as Visit
      return dayOf(this.#cycleMs.get(entered) ?? this.#cycleMs.get(end?.position ?? -1) ?? 0)
    })
    for (const [day, indexes] of days) {
      const rows = indexes.map((index) => ({
        visit: visits[index] as Visit,
        candidate: candidates[index] ?? null,
      }))
      const numbers = (of: (row: (typeof rows)[number]) => number | null | undefined): Float64Array =>
        Float64Array.from(rows, (row) => of(row) ?? NaN)
      this.#options.staging.append('visits', day, rows.length, {
        position: Int32Array.from(rows, ({ visit }) => visit.end?.position ?? -1),
        post: Int32Array.from(rows, ({ visit }) => visit.post),
        entered: Int32Array.from(rows, ({ visit }) => visit.entered),
        title: rows.map(({ candidate }) => candidate?.title ?? null),
        body_html: rows.map(({ candidate }) => (this.#options.texts ? (candidate?.body_html ?? null) : null)),
        created_at: numbers(({ candidate }) => instantOf(candidate?.created_at)),
        extracted_at: numbers(({ candidate }) => instantOf(candidate?.extracted_at)),
        source: numbers(({ candidate }) => codeOf(sourceCodes, candidate?.source)),
        manual_flag: numbers(({ candidate }) => candidate?.manual_flag),
        gallery_type: numbers(({ candidate }) => codeOf(galleryTypeCodes, candidate?.gallery_type)),
        category_id: numbers(({ candidate }) => candidate?.category_id),
        images_in_post: numbers(({ candidate }) => candidate?.images_in_post),
        images_expected: numbers(({ candidate }) => candidate?.image_positions?.length),
        fate: numbers(({ visit }) => visit.end?.reason),
        tier: numbers(({ visit }) => visit.end?.tier),
        decided_at: numbers(({ visit }) => visit.end?.decidedAt),
      })
      if (this.#options.staging.isFull) await this.#options.staging.flush()
    }
  }

  /** The candidates as received; null where their request has expired. */
  async #candidatesOf(visits: readonly Visit[]): Promise<(Candidate | null)[]> {
    const found: (Candidate | null)[] = visits.map(({ candidate }) => parsed(candidate))
    const byCycle = groupBy(visits.keys(), (index) => (visits[index] as Visit).entered)
    for (const [position, indexes] of byCycle) {
      const recorded = indexes.filter((index) => (visits[index] as Visit).row >= 0)
      // An entry of an expired cycle is kept only while one of its posts is pending.
      if (recorded.length === 0 || this.#store.readRequest(position) === undefined) continue
      const rows = recorded.map((index) => (visits[index] as Visit).row)
      const records = await readCandidates(this.#store, position, rows)
      recorded.forEach((index, place) => (found[index] = parsed(records[place] ?? null)))
    }
    return found
  }
}

function parsed(record: Uint8Array | null): Candidate | null {
  return record === null ? null : (JSON.parse(Buffer.from(record).toString()) as Candidate)
}

function codeOf(codes: readonly string[], name: string | undefined): number {
  return name === undefined ? absentCode : codes.indexOf(name)
}
