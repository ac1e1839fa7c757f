/**
 * Evaluates rankers against the operators' picks, cycle by cycle in order of time: rank percentiles at decision cycles,
 * hits in the top k, NDCG, and the picks at the same budget. docs/evaluation.md defines each figure. Columns by visit;
 * memory does not grow with the number of cycles.
 */
import { assert, type Fate } from '../../contract/index.js'
import { highest, ndcg, rankAmong, sortKeys } from './ranking.js'

export const fates = ['open', 'saved', 'hidden', 'deleted', 'aged_out'] as const satisfies readonly Fate[]
const saved = fates.indexOf('saved')

/** The visits of a window, as columns. */
export interface VisitFates {
  readonly count: number
  /** Index in `fates`. */
  readonly fate: Uint8Array
  /** Decision times, milliseconds since 1970; Infinity for an open visit. */
  readonly decidedMs: Float64Array
}

/** The scored rows of one cycle, in the order of the response's results. */
export interface ScoredCycle {
  readonly cycleMs: number
  /** Time of the next cycle of the window; Infinity after the last one. */
  readonly nextMs: number
  /** Visit of each row; -1 for a row outside of the visits of its post. */
  readonly visits: Int32Array
}

/** The decision cycle of each visit: the latest with cycle_time < d whose pool holds it. */
export class DecisionCycles {
  readonly #visits: VisitFates
  /** Index of the cycle; -1 for none. */
  readonly cycle: Int32Array
  /** Index of the first cycle that scored the visit, decided or not; -1 for none. */
  readonly first: Int32Array

  constructor(visits: VisitFates) {
    this.#visits = visits
    this.cycle = new Int32Array(visits.count).fill(-1)
    this.first = new Int32Array(visits.count).fill(-1)
  }

  add(index: number, { cycleMs, visits }: ScoredCycle): void {
    for (const visit of visits) {
      if (visit < 0) continue
      if (this.first[visit] === -1) this.first[visit] = index
      if (cycleMs < this.#visits.decidedMs[visit]!) this.cycle[visit] = index
    }
  }
}

/** The pool of a cycle: the rows that can still be picked, and of these the operators' picks and the others. */
export interface CyclePool {
  readonly rows: Int32Array
  readonly negatives: Int32Array
  readonly isPick: Uint8Array
  readonly picks: readonly number[]
  /** Rows whose decision cycle this is. */
  readonly deciding: readonly number[]
  /** Rows that are scored for the first time. */
  readonly first: readonly number[]
}

export function poolOf(
  index: number,
  { cycleMs, nextMs, visits }: ScoredCycle,
  { fate, decidedMs }: VisitFates,
  decisions: DecisionCycles,
): CyclePool {
  const rows = new Int32Array(visits.length)
  const negatives = new Int32Array(visits.length)
  const isPick = new Uint8Array(visits.length)
  const deciding: number[] = []
  const first: number[] = []
  const picks: number[] = []
  let [count, negativeCount] = [0, 0]
  for (let row = 0; row < visits.length; row++) {
    const visit = visits[row]!
    if (visit < 0) continue
    if (decisions.first[visit] === index) first.push(row)
    const decided = decidedMs[visit]!
    if (cycleMs >= decided) continue
    rows[count++] = row
    if (decisions.cycle[visit] === index) deciding.push(row)
    if (fate[visit] === saved && decided <= nextMs) {
      isPick[row] = 1
      picks.push(row)
    } else negatives[negativeCount++] = row
  }
  return {
    rows: rows.subarray(0, count),
    negatives: negatives.subarray(0, negativeCount),
    isPick,
    picks,
    deciding,
    first,
  }
}

export const topDepths = [10, 50, 100] as const
export const ndcgDepths = [10, 50] as const

export interface Pick {
  readonly visit: number
  readonly cycleIndex: number
}

/** One ranker. Values of visits that it did not rank are NaN. */
export class RankerEvaluation {
  readonly #visits: VisitFates
  /** One per visit. */
  readonly isPicked: Uint8Array
  /** NaN unless the visit is saved and its decision cycle has negatives. */
  readonly rankPercentile: Float64Array
  /** Rank of a saved visit in the pool of its decision cycle, from 1, the highest; ties share the average. */
  readonly rank: Float64Array
  readonly firstScore: Float64Array
  /** Score in the decision cycle. */
  readonly lastScore: Float64Array
  /** Cycles with an operators' pick in their pool: one value for each of `ndcgDepths`. */
  readonly ndcg: { readonly cycleIndex: number; readonly values: readonly number[] }[] = []
  readonly picks: Pick[] = []

  constructor(visits: VisitFates) {
    const column = (): Float64Array => new Float64Array(visits.count).fill(NaN)
    this.#visits = visits
    this.isPicked = new Uint8Array(visits.count)
    this.rankPercentile = column()
    this.rank = column()
    this.firstScore = column()
    this.lastScore = column()
  }

  /** `scores`: one per row of the cycle, NaN for none. `budget`: how many visits the operators picked in this cycle. */
  add(
    index: number,
    { visits }: ScoredCycle,
    pool: CyclePool,
    scores: Float64Array | Float32Array,
    budget: number,
  ): void {
    assert(scores.length === visits.length, 'a score for each row')
    const keys = sortKeys(scores)
    for (const row of pool.first) this.firstScore[visits[row]!] = scores[row]!
    for (const row of pool.deciding) {
      const visit = visits[row]!
      this.lastScore[visit] = scores[row]!
      if (this.#visits.fate[visit] !== saved) continue
      const key = keys[row]!
      const amongAll = rankAmong(keys, pool.rows, key)
      // The row ties with itself.
      this.rank[visit] = amongAll.above + (amongAll.tied + 1) / 2
      if (pool.negatives.length === 0) continue
      const amongPicks = rankAmong(keys, pool.picks, key)
      const [above, tied] = [amongAll.above - amongPicks.above, amongAll.tied - amongPicks.tied]
      this.rankPercentile[visit] = (pool.negatives.length - above - tied / 2) / pool.negatives.length
    }
    if (pool.picks.length > 0) {
      const ranked = highest(keys, pool.rows, Math.max(...ndcgDepths))
      const isPick = (row: number): boolean => pool.isPick[row] === 1
      const values = ndcgDepths.map((depth) => ndcg(ranked, isPick, pool.picks.length, depth))
      this.ndcg.push({ cycleIndex: index, values })
    }
    if (budget === 0) return
    const unpicked = pool.rows.filter((row) => this.isPicked[visits[row]!] === 0)
    for (const row of highest(keys, unpicked, budget)) {
      const visit = visits[row]!
      this.isPicked[visit] = 1
      this.picks.push({ visit, cycleIndex: index })
    }
  }
}

/** How many visits the operators picked in each cycle: saved with d in (cycle_time, next cycle_time]. */
export function budgets(cycleMs: readonly number[], { fate, decidedMs, count }: VisitFates): Uint32Array {
  const perCycle = new Uint32Array(cycleMs.length)
  for (let visit = 0; visit < count; visit++) {
    if (fate[visit] !== saved) continue
    const cycle = lastBefore(cycleMs, decidedMs[visit]!)
    if (cycle >= 0) perCycle[cycle] = perCycle[cycle]! + 1
  }
  return perCycle
}

/** Index of the last time < `ms`, or -1. Times rise. */
export function lastBefore(times: readonly number[], ms: number): number {
  let [low, high] = [0, times.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (times[middle]! < ms) low = middle + 1
    else high = middle
  }
  return low - 1
}
