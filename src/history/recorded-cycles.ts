/**
 * Stored cycles as columns, in order of cycle_time, from their evaluation records, which are kept longer than the bodies.
 * Read-only; the server of the store may be running. Cycles without an evaluation record are ignored.
 */
import {
  readEvaluationEvents,
  readEvaluationRows,
  readEvaluationScores,
  type EvaluationEvents,
  type EvaluationRows,
} from '../cycle/index.js'
import { outcome } from '../contract/index.js'
import type { Position, Store, StoredCycle } from '../store/index.js'
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
export interface RecordedRemovals extends Pick<
  EvaluationEvents['removals'],
  'reason' | 'tier' | 'decidedMs'
> {
  readonly post: Int32Array
  /** The entry that ended in the order of arrival; -1 for a post that was not pending before the cycle. */
  readonly entry: Int32Array
}

/** One row per pending post, in the order of the response's results. Unknown posts are omitted. */
export interface RecordedRows {
  readonly entry: Int32Array
  /** Index in `outcomeCodes`. */
  readonly outcome: Float64Array
}

/** The scored rows, in the order of the response's results. Counters are those that the scoring used; NaN for null. */
export interface RecordedScores extends Pick<EvaluationRows, 'views' | 'up' | 'comment_cnt' | 'rtb_vote'> {
  readonly score: Float32Array
}

export class RecordedCycles {
  /** By cycle_time. */
  readonly cycles: readonly StoredCycle[]
  readonly entries: RecordedEntries
  readonly #store: Store
  readonly #byPosition: ReadonlyMap<Position, StoredCycle>

  constructor(store: Store) {
    this.#store = store
    this.entries = new RecordedEntries(store)
    const cycles = [...store.evaluatedCycles()]
    this.#byPosition = new Map(cycles.map((cycle) => [cycle.position, cycle]))
    this.cycles = cycles.sort((a, b) => a.cycleAtMs - b.cycleAtMs || a.position - b.position)
  }

  cycleAt(position: Position): StoredCycle | undefined {
    return this.#byPosition.get(position)
  }

  /** Cycles with from ≤ cycle_time ≤ to, milliseconds since 1970. */
  window(fromMs: number, toMs: number): StoredCycle[] {
    return this.cycles.filter(({ cycleAtMs }) => cycleAtMs >= fromMs && cycleAtMs <= toMs)
  }

  /** Throws if the record of the cycle is damaged. */
  read(cycle: StoredCycle): RecordedCycle {
    const record = this.#recordOf(cycle)
    const rows = readEvaluationRows(record, cycle.position)
    return {
      ...cycle,
      ...this.#eventsOf(cycle.position, record),
      rows: { entry: this.entries.ofRows(rows), outcome: rows.outcome },
      scored: scoredOf(cycle, record, rows),
    }
  }

  /** Candidates and removals alone. */
  readEvents(cycle: StoredCycle): RecordedEvents {
    return this.#eventsOf(cycle.position, this.#recordOf(cycle))
  }

  /** The scored rows alone. */
  readScored(cycle: StoredCycle): RecordedScores {
    const record = this.#recordOf(cycle)
    return scoredOf(cycle, record, readEvaluationRows(record, cycle.position))
  }

  #eventsOf(position: Position, record: Uint8Array): RecordedEvents {
    const events = readEvaluationEvents(record)
    return { candidates: this.entries.add(position, events.candidates), removals: this.#removals(events) }
  }

  #recordOf({ position, cycleId }: StoredCycle): Uint8Array {
    const record = this.#store.readEvaluation(position)
    if (record === undefined) throw new Error(`the store has no evaluation record of cycle ${cycleId}`)
    return record
  }

  #removals({ removals }: EvaluationEvents): RecordedRemovals {
    const { galleries, gallery, postNo, enteredPosition, enteredRow, reason, tier, decidedMs } = removals
    const count = postNo.length
    const [post, entry] = [new Int32Array(count), new Int32Array(count).fill(-1)]
    for (let row = 0; row < count; row++) {
      const name = [galleries[gallery[row] as number] as string, postNo[row] as number] as const
      const position = enteredPosition[row] as number
      if (Number.isNaN(position)) post[row] = this.entries.postOf(...name)
      else {
        entry[row] = this.entries.at(position, enteredRow[row] as number)
        post[row] = this.entries.name(entry[row] as number, ...name)
      }
    }
    return { post, entry, reason, tier, decidedMs }
  }
}

function scoredOf(
  { cycleId }: StoredCycle,
  record: Uint8Array,
  { outcome: outcomes, views, up, comment_cnt, rtb_vote }: EvaluationRows,
): RecordedScores {
  const score = readEvaluationScores(record)
  const count = outcomes.reduce((sum, code) => sum + (code === outcome.scored ? 1 : 0), 0)
  if (score.length !== count || views.length !== count)
    throw new Error(`the evaluation record of cycle ${cycleId} has ${score.length} scores for ${count} posts`)
  return { score, views, up, comment_cnt, rtb_vote }
}
