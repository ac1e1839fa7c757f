/**
 * Visits in the order in which their cycles arrived, from the records of entered and left posts. The
 * report takes cycles in order of `cycle_time`, which differs only if cycles arrived late.
 */
import type { Candidate } from '../contract/index.js'
import { readCandidates, readEvaluationEvents, savedDepartures, savedEntries } from '../cycle/index.js'
import { PostMap } from '../pool/index.js'
import type { Position, Store } from '../store/index.js'
import type { PostKey } from './pool-list.js'

/** A stay of a post in the pool. */
export interface ArrivalVisit {
  readonly gallId: string
  readonly postNo: number
  /**
   * The cycle that brought the post, and its row among the posts that entered with it: null for a post that left with the
   * same call. Null if that cycle has expired.
   */
  readonly entered: { readonly position: Position; readonly row: number | null } | null
  /** Null while the post is pending. */
  left: Departure | null
}

export interface Departure {
  readonly position: Position
  /** Indexes in `removalReasonCodes` and `tierCodes`. */
  readonly reason: number
  readonly tier: number
  readonly decidedMs: number
}

/** All visits in the stored cycles, oldest first. `only`: those of one post. */
export function visitsOf(store: Store, only: PostKey | null = null): readonly ArrivalVisit[] {
  const all = new ArrivalVisits(store, only)
  const last = store.lastCycle()?.position ?? 0
  for (let position = store.expiry.firstPosition(); position <= last; position++) all.add(position)
  return all.visits
}

/** Whether the post of a visit is pending after the cycle at a position. */
export function isPendingAt({ entered, left }: ArrivalVisit, position: Position): boolean {
  return position >= (entered?.position ?? 0) && position < (left?.position ?? Infinity)
}

/** The candidate with which a visit began; null if its record has expired. */
export async function candidateOf(store: Store, { entered }: ArrivalVisit): Promise<Candidate | null> {
  if (entered === null || entered.row === null) return null
  const [record] = await readCandidates(store, entered.position, [entered.row])
  return JSON.parse(Buffer.from(record ?? []).toString()) as Candidate
}

export class ArrivalVisits {
  readonly visits: ArrivalVisit[] = []
  readonly #store: Store
  readonly #only: PostKey | null
  readonly #open = new PostMap<string, ArrivalVisit>()

  /** Reads the entries of expired cycles that are kept for pending posts. `only`: the visits of one post. */
  constructor(store: Store, only: PostKey | null = null) {
    this.#store = store
    this.#only = only
    for (const position of store.expiry.keptEntries(Number.MAX_SAFE_INTEGER)) this.#enter(position)
  }

  /** Adds the next stored cycle in order of arrival. Returns the visits that ended with it. */
  add(position: Position): readonly ArrivalVisit[] {
    const departures = savedDepartures(this.#store.readLeft(position))
    const ended: ArrivalVisit[] = []
    for (const [row, gallId] of (departures?.gallIds ?? []).entries()) {
      const postNo = departures?.postNo[row] as number
      if (this.#isOther(gallId, postNo)) continue
      const visit = this.open(gallId, postNo) ?? this.#withoutEntry(gallId, postNo, position)
      visit.left = {
        position,
        reason: departures?.reason[row] as number,
        tier: departures?.tier[row] as number,
        decidedMs: departures?.decidedAtMs[row] as number,
      }
      this.#open.delete(gallId, postNo)
      ended.push(visit)
    }
    this.#enter(position)
    return ended
  }

  /** The visit of a post that is pending after the cycle that was added last. */
  open(gallId: string, postNo: number): ArrivalVisit | undefined {
    return this.#open.get(gallId, postNo)
  }

  #isOther(gallId: string, postNo: number): boolean {
    return this.#only !== null && (postNo !== this.#only.post_no || gallId !== this.#only.gall_id)
  }

  #enter(position: Position): void {
    const entries = savedEntries(this.#store.readEntered(position))
    for (const [row, gallId] of (entries?.gallIds ?? []).entries()) {
      const postNo = entries?.postNo[row] as number
      if (this.#isOther(gallId, postNo)) continue
      const visit = { gallId, postNo, entered: { position, row }, left: null }
      this.visits.push(visit)
      this.#open.set(gallId, postNo, visit)
    }
  }

  /** The visit of a post that came and left with one call, or whose entry has expired. */
  #withoutEntry(gallId: string, postNo: number, position: Position): ArrivalVisit {
    const record = this.#store.readEvaluation(position)
    const candidates = record && readEvaluationEvents(record).candidates
    const isCandidate = candidates?.postNo.some(
      (each, row) => each === postNo && candidates.galleries[candidates.gallery[row] as number] === gallId,
    )
    const entered = isCandidate === true ? { position, row: null } : null
    const visit = { gallId, postNo, entered, left: null }
    this.visits.push(visit)
    return visit
  }
}
