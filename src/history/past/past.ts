/**
 * The reader of past cycles, in order of cycle_time: from evaluation records where they exist, else from the bodies, as
 * for cycles that an earlier version stored. Reads only; the server of the store may run.
 */
import type { Codec } from '../../codec/index.js'
import { readEvaluationEvents, readEvaluationRows, readEvaluationScores } from '../../cycle/index.js'
import type { Position, Store, StoredCycle } from '../../store/index.js'
import { readFromBody } from './from-body.js'
import type {
  PastCandidates,
  PastCycle,
  PastEntries,
  PastPosts,
  PastRemovals,
  PastRows,
  PastScores,
} from './past-cycle.js'
import { Registry } from './registry.js'

export class Past {
  /** All cycles that can be read, by cycle_time. */
  readonly cycles: readonly StoredCycle[]
  readonly #store: Store
  readonly #codec: Codec
  readonly #registry: Registry
  readonly #byPosition: ReadonlyMap<Position, StoredCycle>
  /** Whether the entries of all cycles without an evaluation record are known. */
  #isComplete = false

  constructor(store: Store, codec: Codec) {
    this.#store = store
    this.#codec = codec
    this.#registry = new Registry(store)
    const cycles = new Map<Position, StoredCycle>()
    for (const cycle of store.evaluatedCycles()) cycles.set(cycle.position, cycle)
    for (const cycle of store.tail(1)) if (!cycles.has(cycle.position)) cycles.set(cycle.position, cycle)
    this.#byPosition = cycles
    this.cycles = [...cycles.values()].sort((a, b) => a.cycleAtMs - b.cycleAtMs || a.position - b.position)
  }

  get posts(): PastPosts {
    return this.#registry.posts
  }

  get entries(): PastEntries {
    return this.#registry.entries
  }

  cycleAt(position: Position): StoredCycle | undefined {
    return this.#byPosition.get(position)
  }

  /** Cycles with from ≤ cycle_time ≤ to, milliseconds since 1970. */
  window(fromMs = -Infinity, toMs = Infinity): StoredCycle[] {
    return this.cycles.filter(({ cycleAtMs }) => cycleAtMs >= fromMs && cycleAtMs <= toMs)
  }

  /** Rejects where the records of the cycle are missing or damaged. */
  async read(cycle: StoredCycle): Promise<PastCycle> {
    const record = this.#store.readEvaluation(cycle.position)
    if (record !== undefined) return new RecordedCycle(cycle, record, this.#registry)
    this.#readEntries(cycle.position)
    return readFromBody(this.#store, this.#codec, this.#registry, cycle)
  }

  /** A body names posts; where they entered is known from the records of entered posts. */
  #readEntries(upTo: Position): void {
    if (this.#isComplete) return
    const last = Math.max(upTo, this.#store.lastCycle()?.position ?? 0)
    for (let position = 1; position <= last; position++) {
      this.#registry.entriesAt(position)
      this.#registry.addLeft(position)
    }
    this.#isComplete = true
  }
}

/** Sections of the record are unpacked when they are first read. */
class RecordedCycle implements PastCycle {
  readonly position: Position
  readonly cycleId: string
  readonly cycleAtMs: number
  readonly receivedAt: string
  readonly modelVersion: string
  readonly weightsVersion: string
  readonly #record: Uint8Array
  readonly #registry: Registry
  #rows: ReturnType<typeof readEvaluationRows> | null = null
  #entries: Int32Array | null = null
  #scored: PastScores | null = null

  constructor(cycle: StoredCycle, record: Uint8Array, registry: Registry) {
    this.position = cycle.position
    this.cycleId = cycle.cycleId
    this.cycleAtMs = cycle.cycleAtMs
    this.receivedAt = cycle.receivedAt
    this.modelVersion = cycle.modelVersion
    this.weightsVersion = cycle.weightsVersion
    this.#record = record
    this.#registry = registry
  }

  get candidates(): PastCandidates {
    const entry = Int32Array.from(this.#registry.entriesAt(this.position))
    return { count: entry.length, entry }
  }

  get removals(): PastRemovals {
    const { removals } = readEvaluationEvents(this.#record)
    const count = removals.postNo.length
    const [post, entry] = [new Int32Array(count), new Int32Array(count).fill(-1)]
    for (let row = 0; row < count; row++) {
      const gallId = removals.galleries[removals.gallery[row] as number] as string
      const postNo = removals.postNo[row] as number
      const position = removals.enteredPosition[row] as number
      if (!Number.isNaN(position)) {
        entry[row] = this.#registry.entryAt(position, removals.enteredRow[row] as number)
        this.#registry.nameEntry(entry[row] as number, gallId, postNo)
        post[row] = this.#registry.entries.post(entry[row] as number)
      } else post[row] = this.#registry.post(gallId, postNo)
    }
    return {
      ...{ count, post, entry, decidedMs: removals.decidedMs },
      reason: Uint8Array.from(removals.reason),
      tier: Uint8Array.from(removals.tier),
    }
  }

  get rows(): PastRows {
    const { outcome } = this.#unpackedRows()
    return { count: outcome.length, entry: this.#entryOfRows(), outcome: Uint8Array.from(outcome) }
  }

  get scored(): PastScores {
    if (this.#scored !== null) return this.#scored
    const { outcome, views, up, comment_cnt, rtb_vote } = this.#unpackedRows()
    const all = this.#entryOfRows()
    const entry = new Int32Array(views.length)
    for (let row = 0, place = 0; row < outcome.length; row++)
      if (outcome[row] === 0) entry[place++] = all[row] as number
    const score = readEvaluationScores(this.#record)
    if (score.length !== entry.length)
      throw new Error(`the evaluation record of cycle ${this.cycleId} has ${score.length} scores`)
    return (this.#scored = { count: entry.length, entry, score, views, up, comment_cnt, rtb_vote })
  }

  #unpackedRows(): ReturnType<typeof readEvaluationRows> {
    return (this.#rows ??= readEvaluationRows(this.#record, this.position))
  }

  #entryOfRows(): Int32Array {
    if (this.#entries !== null) return this.#entries
    const { enteredPosition, enteredRow } = this.#unpackedRows()
    const entries = new Int32Array(enteredPosition.length)
    let position = NaN
    let there: readonly number[] = []
    for (let row = 0; row < entries.length; row++) {
      // Pending posts are in order of entry: one look-up serves many rows.
      if (enteredPosition[row] !== position) {
        position = enteredPosition[row] as number
        there = this.#registry.entriesAt(position)
      }
      const place = enteredRow[row] as number
      entries[row] = there[place] ?? this.#registry.entryAt(position, place)
    }
    return (this.#entries = entries)
  }
}
