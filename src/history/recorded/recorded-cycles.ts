/**
 * Stored cycles as columns, in order of cycle_time, from their records, which are kept longer than the bodies. Read-only;
 * the server of the store may be running.
 */
import { assert, outcome } from '../../contract/index.js'
import { scoreRows } from '../../pool/index.js'
import { readCycleHeader, readCycleTable, tookEffect, type CycleRows } from '../../records/index.js'
import type { Position, Store, StoredCycle } from '../../store/index.js'
import { RecordedEntries } from './recorded-entries.js'

/** Posts and entries are numbers of `RecordedEntries`. */
export interface RecordedEvents {
  /** Entries of the distinct candidates of the request, those that entered first. */
  readonly candidates: readonly number[]
  readonly removals: RecordedRemovals
}

export interface RecordedCycle extends StoredCycle, RecordedEvents {
  readonly rows: RecordedRows
  readonly scored: RecordedScores
}

/** Removals of the request, in its order. */
export interface RecordedRemovals extends Pick<CycleRows<'removals'>, 'reason' | 'tier' | 'decided_at'> {
  readonly post: Int32Array
  /** The entry that ended in the order of arrival; -1 for a removal without effect. */
  readonly entry: Int32Array
}

/** One row per pending post, in the order of the response's results. Unknown posts are omitted. */
export interface RecordedRows {
  readonly entry: Int32Array
  /** Index in `outcomeCodes`. */
  readonly outcome: Float64Array
}

/** The scored rows, in the order of the response's results. Counters are those that the scoring used; NaN for null. */
export interface RecordedScores extends Pick<
  CycleRows<'scored'>,
  'views' | 'up' | 'comment_cnt' | 'rtb_vote'
> {
  readonly score: Float32Array
}

export class RecordedCycles {
  /** Ordered by cycle_time. */
  readonly cycles: readonly StoredCycle[]
  readonly entries: RecordedEntries
  readonly #store: Store
  readonly #byPosition: ReadonlyMap<Position, StoredCycle>

  constructor(store: Store, cycles = store.recordedCycles()) {
    this.#store = store
    this.entries = new RecordedEntries(store)
    this.#byPosition = new Map(Array.from(cycles, (cycle) => [cycle.position, cycle]))
    this.cycles = [...this.#byPosition.values()].sort(
      (a, b) => a.cycleAtMs - b.cycleAtMs || a.position - b.position,
    )
  }

  cycleAt(position: Position): StoredCycle | undefined {
    return this.#byPosition.get(position)
  }

  /** Whether the cycle that brought an entry is none of these. */
  isExpired(entry: number): boolean {
    return this.cycleAt(this.entries.position[entry]!) === undefined
  }

  /** Cycles with from ≤ cycle_time ≤ to, milliseconds since 1970. */
  window(fromMs: number, toMs: number): StoredCycle[] {
    return this.cycles.filter(({ cycleAtMs }) => cycleAtMs >= fromMs && cycleAtMs <= toMs)
  }

  /** Throws if the record of the cycle is damaged. */
  read(cycle: StoredCycle): RecordedCycle {
    const record = this.#recordOf(cycle)
    const results = readCycleTable(record, 'results')
    const scored = scoredOf(record)
    const scoredCount = results.outcome.filter((code) => code === outcome.scored).length
    if (scored.score.length !== scoredCount)
      throw new Error(`cycle ${cycle.cycleId} has ${scored.score.length} scores for ${scoredCount} posts`)
    return {
      ...cycle,
      ...this.#eventsOf(cycle.position, record),
      rows: { entry: this.entries.ofRows(results), outcome: results.outcome },
      scored,
    }
  }

  /** Candidates and removals alone. */
  readEvents(cycle: StoredCycle): RecordedEvents {
    return this.#eventsOf(cycle.position, this.#recordOf(cycle))
  }

  /** The scored rows alone. */
  readScored(cycle: StoredCycle): RecordedScores {
    return scoredOf(this.#recordOf(cycle))
  }

  #eventsOf(position: Position, record: Uint8Array): RecordedEvents {
    return {
      candidates: this.entries.add(position, readCycleTable(record, 'candidates')),
      removals: this.#removals(readCycleTable(record, 'removals')),
    }
  }

  #recordOf({ position, cycleId }: StoredCycle): Uint8Array {
    const record = this.#store.readRecord(position)
    if (record === undefined) throw new Error(`the store has no record of cycle ${cycleId}`)
    return record
  }

  #removals(removals: CycleRows<'removals'>): RecordedRemovals {
    const { count, gall_id, post_no, entered_position, entered_row, reason, tier, decided_at } = removals
    const [post, entry] = [new Int32Array(count), new Int32Array(count).fill(-1)]
    for (let row = 0; row < count; row++) {
      const name = [gall_id[row] ?? '', post_no[row]!] as const
      if (!tookEffect(removals, row)) post[row] = this.entries.postOf(...name)
      else {
        entry[row] = this.entries.at(entered_position[row]!, entered_row[row]!)
        post[row] = this.entries.name(entry[row]!, ...name)
      }
    }
    return { post, entry, reason, tier, decided_at }
  }
}

function scoredOf(record: Uint8Array): RecordedScores {
  const { count, views, up, comment_cnt, rtb_vote } = readCycleTable(record, 'scored')
  const heads = readCycleTable(record, 'heads')
  assert(heads.count === count, 'each scored row has its heads')
  return { score: scoreRows(heads, readCycleHeader(record).weights, count), views, up, comment_cnt, rtb_vote }
}
