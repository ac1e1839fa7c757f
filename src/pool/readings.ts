/**
 * What is kept of each post's readings and admin snapshots after a cycle: of several rows for one post the latest counts, the
 * last one on a tie. A reading of a late cycle never replaces a newer one (docs/contract.md, The pending pool).
 */
import {
  assert,
  type CandidateScoreColumns,
  type EngagementColumns,
  type GalleryIds,
  type Instant,
  type KeyColumns,
  type ReadingColumns,
  readingNames,
  snapshotColumnNames,
  type SnapshotColumns,
  statusOk,
} from '../contract/index.js'
import { noSource, secondRow, Sources } from './gather.js'
import { copyFloats, gatherFloats } from './post-columns.js'
import { PostMap } from './post-map.js'
import { findSlot, type PoolKeys, type PoolState } from './state.js'
import type { PostWarning } from './warnings.js'

export interface LatestRows {
  /** The row that counts, or -1, by slot of the pool. */
  readonly rowOfSlot: Int32Array
  /** Rows that count of posts that are not pending, in the order in which the posts appear. */
  readonly otherRows: readonly number[]
}

/** Rows of a request: their keys and times. */
export interface TimedRows {
  readonly keys: KeyColumns
  readonly atMs: Float64Array
  readonly atFraction: Float64Array
  /** The request's gallery ids, and the pool's codes for them. */
  readonly galleries: GalleryIds
  readonly codes: Uint32Array
}

/** `pool`: the pending posts. Adds superseded rows to `duplicates`. */
export function latestRows(rows: TimedRows, pool: PoolKeys, duplicates: PostWarning): LatestRows {
  const { codes, galleries } = rows
  const { count, gallery, postNo } = rows.keys
  assert(rows.atMs.length === count && rows.atFraction.length === count, 'each row of a request has a time')
  const rowOfSlot = new Int32Array(pool.count).fill(-1)
  const otherRows: number[] = []
  /** Index into `otherRows` by post. */
  const others = new PostMap<number, number>()
  let hint = 0
  for (let row = 0; row < count; row++) {
    const request = gallery[row]!
    const number = postNo[row]!
    const slot = findSlot(pool, codes[request]!, number, hint)
    hint = slot + 1
    const other = slot >= 0 ? -1 : (others.get(request, number) ?? -1)
    const earlier = slot >= 0 ? rowOfSlot[slot]! : (otherRows[other] ?? -1)
    if (earlier >= 0) {
      duplicates.add(galleries[request]!, number)
      if (isBefore(rows, row, earlier)) continue
    }
    if (slot >= 0) rowOfSlot[slot] = row
    else if (other >= 0) otherRows[other] = row
    else others.set(request, number, otherRows.push(row) - 1)
  }
  return { rowOfSlot, otherRows }
}

function isBefore(rows: TimedRows, a: number, b: number): boolean {
  const difference = rows.atMs[a]! - rows.atMs[b]!
  return difference < 0 || (difference === 0 && rows.atFraction[a]! < rows.atFraction[b]!)
}

export interface KeptReadings {
  /** The last two readings, by slot of the next state. */
  readonly latest: ReadingColumns
  readonly previous: ReadingColumns
  /** The reading before the one that is scored, by slot of the next state. */
  readonly before: ReadingColumns
}

/**
 * `sources`: by slot of the next state, its slot in `pool` or a negative number. `rowOfSlot`: by slot of the next state,
 * the engagement row that counts, or -1.
 */
export function keepReadings(
  pool: PoolState,
  engagement: EngagementColumns,
  sources: Int32Array,
  rowOfSlot: Int32Array,
): KeptReadings {
  assert(rowOfSlot.length === sources.length, 'each slot has a row that counts, or none')
  const latestSources = new Int32Array(sources.length)
  const previousSources = new Int32Array(sources.length)
  const lateSlots: number[] = []
  const { status } = engagement
  for (let slot = 0; slot < sources.length; slot++) {
    const kept = Math.max(sources[slot]!, noSource)
    const row = rowOfSlot[slot]!
    latestSources[slot] = kept
    previousSources[slot] = kept
    if (row < 0 || status[row] !== statusOk) continue
    const order = kept < 0 ? 1 : compareReadings(engagement, row, pool.latest, kept)
    if (order < 0) lateSlots.push(slot)
    else latestSources[slot] = secondRow(row)
    if (order > 0 && kept >= 0) previousSources[slot] = secondRow(kept)
  }
  const latest = gatherFloats(readingNames, new Sources(latestSources), pool.latest, engagement)
  const previous = gatherFloats(readingNames, new Sources(previousSources), pool.previous, pool.latest)
  if (lateSlots.length === 0) return { latest, previous, before: previous }
  return { latest, previous, before: keepOlderReadings(previous, engagement, rowOfSlot, lateSlots) }
}

/**
 * A reading older than the latest one is scored against the reading before itself. Returns `previous` with that reading
 * in its place. If the older reading is the second newest, it replaces the one in `previous`.
 */
function keepOlderReadings(
  previous: Record<(typeof readingNames)[number], Float64Array>,
  engagement: EngagementColumns,
  rowOfSlot: Int32Array,
  slots: readonly number[],
): ReadingColumns {
  const before = copyFloats(readingNames, previous)
  for (const slot of slots) {
    const row = rowOfSlot[slot]!
    const order = compareReadings(engagement, row, previous, slot)
    for (const name of readingNames) {
      if (order <= 0) before[name][slot] = NaN
      if (order >= 0) previous[name][slot] = engagement[name][row]!
    }
  }
  return before
}

/** Order in time of a reading and a kept one; positive if nothing is kept. */
function compareReadings(a: ReadingColumns, rowA: number, b: ReadingColumns, rowB: number): number {
  const keptAtMs = b.observedAtMs[rowB]!
  if (isNaN(keptAtMs)) return 1
  return a.observedAtMs[rowA]! - keptAtMs || a.observedAtFraction[rowA]! - b.observedAtFraction[rowB]!
}

export interface KeptSnapshots {
  /** The latest snapshot, by slot of the next state. */
  readonly latest: SnapshotColumns
  /**
   * The snapshot to score with. A late cycle is scored from its own rows: it never uses one from after its time that
   * another cycle sent.
   */
  readonly used: SnapshotColumns
}

/** `sources` and `rowOfSlot` as in `keepReadings`; rows are those of `scores`. */
export function keepSnapshots(
  pool: PoolState,
  scores: CandidateScoreColumns,
  sources: Int32Array,
  rowOfSlot: Int32Array,
  cycleAt: Instant,
): KeptSnapshots {
  assert(rowOfSlot.length === sources.length, 'each slot has a row that counts, or none')
  const latestSources = new Int32Array(sources.length)
  const laterSlots: number[] = []
  const [atMs, atFraction] = [scores.snapshotAtMs, scores.snapshotAtFraction]
  const [poolAtMs, poolAtFraction] = [pool.snapshot.snapshotAtMs, pool.snapshot.snapshotAtFraction]
  for (let slot = 0; slot < sources.length; slot++) {
    const kept = Math.max(sources[slot]!, noSource)
    const row = rowOfSlot[slot]!
    // The times of a missing snapshot are NaN, and comparisons with NaN are false.
    const keptMs = kept < 0 ? NaN : poolAtMs[kept]!
    latestSources[slot] = kept
    if (row < 0 && isNaN(keptMs)) continue
    const keptFraction = kept < 0 ? NaN : poolAtFraction[kept]!
    const isOlder = row >= 0 && (atMs[row]! - keptMs || atFraction[row]! - keptFraction) < 0
    if (row >= 0 && !isOlder) latestSources[slot] = secondRow(row)
    if ((keptMs - cycleAt.ms || keptFraction - cycleAt.fraction) > 0) laterSlots.push(slot)
  }
  const latest = gatherFloats(snapshotColumnNames, new Sources(latestSources), pool.snapshot, scores)
  if (laterSlots.length === 0) return { latest, used: latest }
  const used = copyFloats(snapshotColumnNames, latest)
  for (const slot of laterSlots) {
    const row = rowOfSlot[slot]!
    for (const name of snapshotColumnNames) used[name][slot] = row < 0 ? NaN : scores[name][row]!
  }
  return { latest, used }
}
