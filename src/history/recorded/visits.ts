/**
 * Visits: stays of posts in the pool, found from cycles in order of cycle_time. Columns by visit, in order of beginning.
 * docs/evaluation.md defines a visit and its fate.
 */
import { absentCode, assert, firstScoreDeadline, outcome, removalReasonCodes } from '../../contract/index.js'
import type { RecordedCycle, RecordedCycles, RecordedEvents } from './recorded-cycles.js'
import type { RecordedEntries } from './recorded-entries.js'
import { fates, type VisitFates } from '../evaluation/ranker-evaluation.js'

const open = fates.indexOf('open')
const fateOfReason = removalReasonCodes.map((reason) => fates.indexOf(reason as (typeof fates)[number]))

export class Visits {
  /** Index of the cycle that brought the post; -1 for a visit that began before the window. */
  readonly beginCycle: number[] = []
  /** Index of the cycle with the removal; -1 while there is none. */
  readonly endCycle: number[] = []
  /** Index in `removalReasonCodes`; `absentCode` while the visit is open. */
  readonly reason: number[] = []
  readonly post: number[] = []
  /** The candidate row that began the visit. */
  readonly entry: number[] = []
  /** Index in `tierCodes`. */
  readonly tier: number[] = []
  /** Outcome of the latest row without a score up to the deadline of the first score; `absentCode` for none. */
  readonly waitingOutcome: number[] = []
  /** One for each visit; NaN if unknown. */
  readonly deadlineMs: number[] = []
  readonly #entries: RecordedEntries
  readonly #stored: Pick<RecordedCycles, 'entries' | 'isExpired'>
  /** The entry that began the visit, for each entry of a post that was pending. */
  readonly #began = new Map<number, number>()
  /** The candidate rows of the posts that were pending before the window, by post. */
  readonly #pendingBefore = new Map<number, number>()
  /** Infinity while the visit is open. */
  readonly decidedMs: number[] = []
  /** The latest visit of a post. */
  readonly #latest: (number | undefined)[] = []
  #cycles = 0

  constructor(stored: Pick<RecordedCycles, 'entries' | 'isExpired'>) {
    this.#stored = stored
    this.#entries = stored.entries
  }

  /** Adds the next cycle before the window. A visit that it begins counts if its post occurs in the window. */
  addBefore({ candidates, removals }: RecordedEvents): void {
    for (const entry of candidates) {
      const post = this.#entries.post[entry]!
      if (!this.#pendingBefore.has(post)) this.#pendingBefore.set(post, entry)
    }
    for (const post of removals.post) this.#pendingBefore.delete(post)
  }

  /**
   * Adds the next cycle in order of cycle_time: candidates apply first, then removals. With `rows`, posts that were pending
   * before the window are found by them.
   */
  addEvents({ candidates, removals, rows }: RecordedEvents & Partial<Pick<RecordedCycle, 'rows'>>): void {
    const index = this.#cycles++
    // First, since a post that was pending before the window may be sent again in it.
    removals.post.forEach((post, row) => this.#beginBefore(post, removals.entry[row]!))
    for (const entry of rows?.entry ?? []) this.#beginBefore(this.#entries.post[entry]!, entry)
    for (const entry of candidates) {
      this.#beginBefore(this.#entries.post[entry]!, entry)
      const latest = this.#visitOf(entry)
      if (latest === undefined || !this.#isOpen(latest)) this.#begin(entry, index)
      else this.#began.set(entry, this.entry[latest]!)
    }
    this.#remove(removals, index)
  }

  /**
   * `addEvents` that returns the visit of each scored row; -1 if the row lies before its visit or after it, as the results of
   * a late cycle can.
   */
  add(cycle: RecordedCycle): Int32Array {
    const { rows } = cycle
    this.addEvents(cycle)
    const scored = new Int32Array(cycle.scored.score.length)
    let scoredCount = 0
    for (let row = 0; row < rows.entry.length; row++) {
      const latest = this.#visitOf(rows.entry[row]!)
      const visit = latest !== undefined && this.#isOpen(latest) ? latest : -1
      const code = rows.outcome[row]!
      if (code === outcome.scored) scored[scoredCount++] = visit
      else if (visit >= 0 && cycle.cycleAtMs <= this.deadlineMs[visit]!) this.waitingOutcome[visit] = code
    }
    assert(scoredCount === scored.length, 'each scored row has a score')
    return scored
  }

  get count(): number {
    return this.post.length
  }

  /** The entry that began the visit of an entry: another one if the post was pending when it was sent again. */
  beginningOf(entry: number): number {
    return this.#began.get(entry) ?? entry
  }

  fates(): VisitFates {
    return {
      count: this.count,
      fate: Uint8Array.from(this.reason, (reason) => fateOfReason[reason] ?? open),
      decidedMs: Float64Array.from(this.decidedMs),
    }
  }

  #remove({ post, reason, tier, decided_at }: RecordedEvents['removals'], cycle: number): void {
    for (let row = 0; row < post.length; row++) {
      const visit = this.#latest[post[row]!]
      if (visit === undefined || !this.#isOpen(visit)) continue
      this.endCycle[visit] = cycle
      this.reason[visit] = reason[row]!
      this.tier[visit] = tier[row]!
      this.decidedMs[visit] = decided_at[row]!
    }
  }

  /** Begins the visit of a post that has not occurred in the window so far, if it was pending before. */
  #beginBefore(post: number, entry: number): void {
    if (this.#latest[post] !== undefined) return
    const began = this.#pendingBefore.get(post)
    if (began !== undefined) this.#begin(began, -1)
    else if (entry >= 0 && this.#stored.isExpired(entry)) this.#begin(entry, -1)
  }

  #visitOf(entry: number): number | undefined {
    return this.#latest[this.#entries.post[entry]!]
  }

  #isOpen(visit: number): boolean {
    return this.reason[visit] === absentCode
  }

  #begin(entry: number, cycle: number): number {
    const post = this.#entries.post[entry]!
    const visit = this.post.push(post) - 1
    this.entry.push(entry)
    this.beginCycle.push(cycle)
    this.tier.push(absentCode)
    this.waitingOutcome.push(absentCode)
    this.deadlineMs.push(firstScoreDeadline(this.#entries.extractedMs[entry]!))
    this.endCycle.push(-1)
    this.reason.push(absentCode)
    this.decidedMs.push(Infinity)
    this.#latest[post] = visit
    return visit
  }
}
