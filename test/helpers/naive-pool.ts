/**
 * A reference implementation of the pool for comparison: sections 3.1 to 3.3 of the interface and the decisions on
 * cycles, with objects, maps and sorts. Slow and obvious.
 */
import { compareInstants, parseInstant, type Instant } from '../../src/contract/index.js'
import type { Candidate, CandidateScoreRow, CycleRequest, EngagementRow } from '../../src/contract/index.js'

interface Post {
  candidate: Candidate
  /** The latest two `ok` readings, of different instants, oldest first. */
  readings: EngagementRow[]
  snapshots: CandidateScoreRow[]
}

export interface NaiveResult {
  post: string
  status: string
  reason: string | null
  /** Of scored rows: views of the reading, views of the previous reading, and `hit_cnt` of the snapshot in use. */
  views?: number | null
  viewsBefore?: number | null | undefined
  hits?: number | null | undefined
}

/** Time for which the pool remembers the removal of a post, in cycle time. */
const removalMsMax = 7 * 24 * 3_600_000

export class NaivePool {
  readonly #pending = new Map<string, Post>()
  /** The time at which each post was removed: the latest cycle time so far, which never decreases. */
  readonly #removed = new Map<string, number>()
  #newestMs = -Infinity

  /** Time of the newest cycle, -Infinity before the first. */
  get newestMs(): number {
    return this.#newestMs
  }

  get pendingCount(): number {
    return this.#pending.size
  }

  /** The candidate record with which a pending post entered the pool. */
  candidateOf(post: string): Candidate | undefined {
    return this.#pending.get(post)?.candidate
  }

  /** Whether the post was removed within the last seven days of cycle time. */
  isRemoved(post: string): boolean {
    return this.#removed.has(post)
  }

  /** The results of a cycle, in order. */
  apply(cycle: CycleRequest): NaiveResult[] {
    this.#newestMs = Math.max(this.#newestMs, instant(cycle.cycle_time).ms)
    for (const candidate of cycle.candidates) {
      const post = keyOf(candidate)
      if (!this.#pending.has(post)) this.#pending.set(post, { candidate, readings: [], snapshots: [] })
    }
    for (const removal of cycle.removals) {
      const post = keyOf(removal)
      if (this.#pending.delete(post)) this.#removed.set(post, this.#newestMs)
    }
    for (const candidate of cycle.candidates) {
      if (this.#pending.has(keyOf(candidate))) this.#removed.delete(keyOf(candidate))
    }
    const readings = latest(cycle.engagement, (row) => row.observed_at)
    const snapshots = latest(cycle.candidate_scores, (row) => row.snapshot_at)
    const results = [...this.#pending].map(([key, post]) =>
      this.#resultOf(key, post, readings.get(key), snapshots.get(key), cycle),
    )
    for (const key of readings.keys()) {
      if (this.#pending.has(key) || this.#removed.has(key)) continue
      results.push({ post: key, status: 'not_scored', reason: 'unknown_post' })
    }
    for (const [post, leftAtMs] of this.#removed)
      if (leftAtMs < this.#newestMs - removalMsMax) this.#removed.delete(post)
    return results
  }

  #resultOf(
    key: string,
    post: Post,
    reading: EngagementRow | undefined,
    snapshot: CandidateScoreRow | undefined,
    cycle: CycleRequest,
  ): NaiveResult {
    const before =
      reading && post.readings.filter((row) => isBefore(row.observed_at, reading.observed_at)).at(-1)
    if (reading?.status === 'ok')
      post.readings = insert(post.readings, reading, (row) => row.observed_at).slice(-2)
    if (snapshot) post.snapshots = insert(post.snapshots, snapshot, (row) => row.snapshot_at).slice(-1)
    const kept = post.snapshots.find((row) => !isBefore(cycle.cycle_time, row.snapshot_at))
    const { title, created_at, extracted_at } = post.candidate
    if (!reading) return { post: key, status: 'waiting', reason: null }
    const reason =
      title.trim() === ''
        ? 'missing_title'
        : created_at === null || extracted_at === null
          ? 'missing_clock'
          : reading.status !== 'ok'
            ? 'post_unavailable'
            : null
    if (reason !== null) return { post: key, status: 'not_scored', reason }
    return {
      post: key,
      status: 'scored',
      reason: null,
      views: reading.views,
      viewsBefore: before?.views,
      hits: (kept ?? snapshot)?.hit_cnt,
    }
  }
}

export function keyOf(row: { gall_id: string; post_no: number }): string {
  return `${row.gall_id}/${row.post_no}`
}

/** Per post the latest row, the last one on a tie, in order of first appearance. */
function latest<Row extends { gall_id: string; post_no: number }>(
  rows: readonly Row[],
  time: (row: Row) => string,
): Map<string, Row> {
  const found = new Map<string, Row>()
  for (const row of rows) {
    const current = found.get(keyOf(row))
    if (!current || !isBefore(time(row), time(current))) found.set(keyOf(row), row)
  }
  return found
}

/** Sorted by time; a row of the same instant is replaced. */
function insert<Row>(rows: readonly Row[], row: Row, time: (row: Row) => string): Row[] {
  const others = rows.filter((other) => isBefore(time(other), time(row)) || isBefore(time(row), time(other)))
  return [...others, row].sort((a, b) => compareInstants(instant(time(a)), instant(time(b))))
}

function isBefore(a: string, b: string): boolean {
  return compareInstants(instant(a), instant(b)) < 0
}

function instant(text: string): Instant {
  const parsed = parseInstant(text)
  if (parsed === null) throw new Error(`not a date-time: ${text}`)
  return parsed
}
