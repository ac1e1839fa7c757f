/**
 * Visits in the order in which their cycles arrived. The
 * report takes cycles in order of `cycle_time`, which differs only if cycles arrived late.
 */
import type { Candidate } from '../contract/index.js'
import { readCandidates } from '../cycle/index.js'
import { PostMap } from '../pool/index.js'
import { readCycleHeader, readCycleTable } from '../records/index.js'
import type { Position, Store } from '../store/index.js'
import type { PostKey } from './pool-list.js'

/** A stay of a post in the pool. */
export interface ArrivalVisit {
  readonly gallId: string
  readonly postNo: number
  /** The cycle that brought the post, and its row among the candidates of that cycle. Null if that cycle has expired. */
  readonly entered: { readonly position: Position; readonly row: number } | null
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
  if (entered === null || store.readRequest(entered.position) === undefined) return null
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
    for (const position of store.expiry.keptEntries(Number.MAX_SAFE_INTEGER)) {
      const record = store.readColumns(position)
      if (record !== undefined) this.#enter(position, record)
    }
  }

  /** Adds the next stored cycle in order of arrival. Returns the visits that ended with it. */
  add(position: Position): readonly ArrivalVisit[] {
    const ended: ArrivalVisit[] = []
    const record = this.#store.readColumns(position)
    if (record === undefined) throw new Error(`the store has no record at position ${position}`)
    const removals = readCycleTable(record, 'removals')
    for (let row = 0; row < removals.count; row++) {
      const entered = removals.entered_position[row] as number
      const [gallId, postNo] = [removals.gall_id[row] ?? '', removals.post_no[row] as number]
      if (Number.isNaN(entered) || this.#isOther(gallId, postNo)) continue
      const isSameCall = entered === position
      const visit =
        this.open(gallId, postNo) ??
        this.#begin(
          gallId,
          postNo,
          isSameCall ? { position, row: removals.entered_row[row] as number } : null,
        )
      visit.left = {
        position,
        reason: removals.reason[row] as number,
        tier: removals.tier[row] as number,
        decidedMs: removals.decided_at[row] as number,
      }
      this.#open.delete(gallId, postNo)
      ended.push(visit)
    }
    this.#enter(position, record)
    return ended
  }

  /** The visit of a post that is pending after the cycle that was added last. */
  open(gallId: string, postNo: number): ArrivalVisit | undefined {
    return this.#open.get(gallId, postNo)
  }

  #isOther(gallId: string, postNo: number): boolean {
    return this.#only !== null && (postNo !== this.#only.post_no || gallId !== this.#only.gall_id)
  }

  #enter(position: Position, record: Uint8Array): void {
    const { gall_id, post_no } = readCycleTable(record, 'candidates')
    const { entered } = readCycleHeader(record)
    for (let row = 0; row < entered; row++) {
      const [gallId, postNo] = [gall_id[row] ?? '', post_no[row] as number]
      if (!this.#isOther(gallId, postNo))
        this.#open.set(gallId, postNo, this.#begin(gallId, postNo, { position, row }))
    }
  }

  #begin(gallId: string, postNo: number, entered: ArrivalVisit['entered']): ArrivalVisit {
    const visit = { gallId, postNo, entered, left: null }
    this.visits.push(visit)
    return visit
  }
}
