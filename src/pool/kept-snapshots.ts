/**
 * The latest admin snapshot of each post after a cycle's `candidate_scores`.
 */
import {
  assert,
  snapshotColumnNames,
  type CandidateScoreColumns,
  type Instant,
  type SnapshotColumns,
} from '../contract/index.js'
import { noSource, secondRow, Sources } from './gather.js'
import { copyFloats, gatherFloats } from './post-columns.js'
import type { PoolState } from './state.js'

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
