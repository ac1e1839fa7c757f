/**
 * The visits of the stored cycles one by one, for `explain`, `export` and titles: as `Visits` reconstructs them for a report.
 */
import { assert, type Candidate, type PostKey } from '../../contract/index.js'
import { readCandidates } from '../../cycle/index.js'
import type { CycleRows } from '../../records/index.js'
import type { Position, Store, StoredCycle } from '../../store/index.js'
import type { Departure } from './departures.js'
import { RecordedCycles } from './recorded-cycles.js'
import { Visits } from './visits.js'

/** A stay of a post in the pool. */
export interface StoredVisit {
  readonly gallId: string
  readonly postNo: number
  /** The candidate that began it: position of its cycle, and its row there. Null if its request has expired. */
  readonly entered: { readonly position: Position; readonly row: number } | null
  /** The cycle of that candidate; null if it has expired. */
  readonly begin: StoredCycle | null
  /** Null while the post is pending. */
  readonly departure: Departure | null
}

export class StoredVisits {
  readonly #store: Store
  readonly #recorded: RecordedCycles
  readonly #visits: Visits
  /** Whether the request of a position is stored. */
  readonly #isStored = new Map<Position, boolean>()

  constructor(store: Store) {
    this.#store = store
    this.#recorded = new RecordedCycles(store, store.tail(1))
    this.#visits = new Visits(this.#recorded)
    for (const [index, cycle] of this.#recorded.cycles.entries()) {
      // The first cycle has a row for each post that was pending before it.
      const events = index === 0 ? this.#recorded.read(cycle) : this.#recorded.readEvents(cycle)
      this.#visits.addEvents(events)
    }
  }

  /** Ordered by beginning. `only`: the visits of one post. */
  list(only: PostKey | null = null): StoredVisit[] {
    const visits: StoredVisit[] = []
    const { gallIds, postNos } = this.#recorded.entries
    for (const [visit, post] of this.#visits.post.entries()) {
      const [gallId, postNo] = [gallIds[post] ?? null, postNos[post] ?? null]
      // The record that named the post has expired.
      if (gallId === null || postNo === null) continue
      if (only === null || (postNo === only.post_no && gallId === only.gall_id))
        visits.push({ gallId, postNo, ...this.#stay(visit) })
    }
    return visits
  }

  /** Position of the cycle that began the visit of each row; -1 for none, and if its request has expired. */
  enteredOf({ entered_position, entered_row }: Pick<CycleRows<'removals'>, EntryColumn>): Int32Array {
    return Int32Array.from(entered_position, (position, row) => {
      if (Number.isNaN(position)) return -1
      const entry = this.#recorded.entries.at(position, entered_row[row]!)
      return this.#entered(this.#visits.beginningOf(entry))?.position ?? -1
    })
  }

  #stay(visit: number): Pick<StoredVisit, 'entered' | 'begin' | 'departure'> {
    const { cycles } = this.#recorded
    const { entry, beginCycle, endCycle, reason, tier, decidedMs } = this.#visits
    const end = cycles[endCycle[visit]!]
    const departure = end && {
      cycle: end,
      reason: reason[visit]!,
      tier: tier[visit]!,
      decidedMs: decidedMs[visit]!,
    }
    return {
      entered: this.#entered(entry[visit]!),
      begin: cycles[beginCycle[visit]!] ?? null,
      departure: departure ?? null,
    }
  }

  #entered(entry: number): StoredVisit['entered'] {
    const { position, row } = this.#recorded.entries
    const at = position[entry]
    assert(at !== undefined, 'an entry has a position')
    let isStored = this.#isStored.get(at)
    if (isStored === undefined) {
      isStored = this.#store.readRequest(at) !== undefined
      this.#isStored.set(at, isStored)
    }
    return isStored ? { position: at, row: row[entry]! } : null
  }
}

type EntryColumn = 'entered_position' | 'entered_row'

/** Whether the post of a visit is pending after a cycle, in order of `cycle_time`. */
export function isPendingAt({ begin, departure }: StoredVisit, cycle: StoredCycle): boolean {
  return (
    (begin === null || !isBefore(cycle, begin)) && (departure === null || isBefore(cycle, departure.cycle))
  )
}

function isBefore(one: StoredCycle, other: StoredCycle): boolean {
  return (one.cycleAtMs - other.cycleAtMs || one.position - other.position) < 0
}

/** The candidate with which a visit began; null if its request has expired. */
export async function candidateOf(store: Store, { entered }: StoredVisit): Promise<Candidate | null> {
  if (entered === null) return null
  const [record] = await readCandidates(store, entered.position, [entered.row])
  return JSON.parse(Buffer.from(record ?? []).toString()) as Candidate
}
