/**
 * Visits: stays of posts in the pool, found from cycles in order of cycle_time. Columns by visit, in order of beginning.
 * docs/evaluation.md defines a visit and its fate.
 */
import { absentCode, assert, firstScoreDeadline, outcome, removalReasonCodes } from '../../contract/index.js'
import type { RecordedCycle, RecordedEvents } from '../recorded-cycles.js'
import type { RecordedEntries } from '../recorded-entries.js'
import { fates, type VisitFates } from './ranker-evaluation.js'

const open = fates.indexOf('open')
const fateOfReason = removalReasonCodes.map((reason) => fates.indexOf(reason as (typeof fates)[number]))

export class Visits {
  /** Index of the cycle that brought the post; -1 for a visit that began before the window. */
  readonly beginCycle: number[] = []
  readonly post: number[] = []
  /** The candidate row that began the visit. */
  readonly entry: number[] = []
  /** Index in `tierCodes`. */
  readonly tier: number[] = []
  /** Outcome of the latest row without a score up to the deadline of the first score; `absentCode` for none. */
  readonly waitingOutcome: number[] = []
  /** By visit, NaN if unknown. */
  readonly deadlineMs: number[] = []
  readonly #entries: RecordedEntries
  readonly #isExpired: (entry: number) => boolean
  /** The candidate rows of the posts that were pending before the window, by post. */
  readonly #pendingBefore = new Map<number, number>()
  readonly #fate: number[] = []
  readonly #decidedMs: number[] = []
  /** The latest visit of a post. */
  readonly #latest: (number | undefined)[] = []
  #cycles = 0

  /** `isExpired`: whether the cycle that brought an entry is no longer stored. */
  constructor(entries: RecordedEntries, isExpired: (entry: number) => boolean) {
    this.#entries = entries
    this.#isExpired = isExpired
  }

  /** Adds the next cycle before the window. A visit that it begins counts if its post occurs in the window. */
  addBefore({ candidates, removals }: RecordedEvents): void {
    for (const entry of candidates) {
      const post = this.#entries.post[entry] as number
      if (!this.#pendingBefore.has(post)) this.#pendingBefore.set(post, entry)
    }
    for (const post of removals.post) this.#pendingBefore.delete(post)
  }

  /**
   * Adds the next cycle in order of cycle_time. Candidates apply first, then removals. Returns the visit of each scored
   * row; -1 if the row lies before its visit or after it, as the results of a late cycle can.
   */
  add(cycle: RecordedCycle): Int32Array {
    const index = this.#cycles++
    const { rows, removals, candidates } = cycle
    // First, since a post that was pending before the window may be sent again in it.
    removals.post.forEach((post, row) => this.#beginBefore(post, removals.entry[row] as number))
    for (const entry of rows.entry) this.#beginBefore(this.#entries.post[entry] as number, entry)
    for (const entry of candidates) {
      this.#beginBefore(this.#entries.post[entry] as number, entry)
      const latest = this.#visitOf(entry)
      if (latest === undefined || !this.#isOpen(latest)) this.#begin(entry, index)
    }
    this.#remove(removals)
    const scored = new Int32Array(cycle.scored.score.length)
    let place = 0
    for (let row = 0; row < rows.entry.length; row++) {
      const latest = this.#visitOf(rows.entry[row] as number)
      const visit = latest !== undefined && this.#isOpen(latest) ? latest : -1
      const code = rows.outcome[row] as number
      if (code === outcome.scored) scored[place++] = visit
      else if (visit >= 0 && cycle.cycleAtMs <= (this.deadlineMs[visit] as number))
        this.waitingOutcome[visit] = code
    }
    assert(place === scored.length, 'each scored row has a score')
    return scored
  }

  get count(): number {
    return this.post.length
  }

  fates(): VisitFates {
    return {
      count: this.count,
      fate: Uint8Array.from(this.#fate),
      decidedMs: Float64Array.from(this.#decidedMs),
    }
  }

  #remove({ post, reason, tier, decided_at }: RecordedCycle['removals']): void {
    for (let row = 0; row < post.length; row++) {
      const visit = this.#latest[post[row] as number]
      if (visit === undefined || !this.#isOpen(visit)) continue
      this.#fate[visit] = fateOfReason[reason[row] as number] as number
      this.tier[visit] = tier[row] as number
      this.#decidedMs[visit] = decided_at[row] as number
    }
  }

  /** Begins the visit of a post that has not occurred in the window so far, if it was pending before. */
  #beginBefore(post: number, entry: number): void {
    if (this.#latest[post] !== undefined) return
    const began = this.#pendingBefore.get(post)
    if (began !== undefined) this.#begin(began, -1)
    else if (entry >= 0 && this.#isExpired(entry)) this.#begin(entry, -1)
  }

  #visitOf(entry: number): number | undefined {
    return this.#latest[this.#entries.post[entry] as number]
  }

  #isOpen(visit: number): boolean {
    return this.#fate[visit] === open
  }

  #begin(entry: number, cycle: number): number {
    const post = this.#entries.post[entry] as number
    const visit = this.post.push(post) - 1
    this.entry.push(entry)
    this.beginCycle.push(cycle)
    this.tier.push(absentCode)
    this.waitingOutcome.push(absentCode)
    this.deadlineMs.push(firstScoreDeadline(this.#entries.extractedMs[entry] as number))
    this.#fate.push(open)
    this.#decidedMs.push(Infinity)
    this.#latest[post] = visit
    return visit
  }
}
