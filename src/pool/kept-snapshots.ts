/**
 * What a cycle's admin snapshots make of the latest one of each post.
 */
import type { CandidateScoreColumns, Instant, SnapshotColumns } from '../contract/index.js'
import type { ColumnMemory } from './column-memory.js'
import { copyFloats, joinFloats, snapshotColumnNames } from './columns.js'
import { laterCount, unknownCount } from './latest-rows.js'
import type { PoolState } from './state.js'
import { source, Stretches } from './stretches.js'

export interface KeptSnapshots {
  /** By slot of the next state: the latest snapshot. */
  readonly latest: SnapshotColumns
  /** The one to score with: for a late cycle never one from after its time (decisions.md 39). */
  readonly used: SnapshotColumns
}

/** `moved` and `rowOfSlot` as in `keepReadings`; rows are those of `scores`. */
export function keepSnapshots(
  pool: PoolState,
  scores: CandidateScoreColumns,
  moved: Stretches,
  rowOfSlot: Int32Array,
  cycleAt: Instant,
  memory: ColumnMemory,
): KeptSnapshots {
  const { snapshotAtMs, snapshotAtFraction } = pool.snapshot
  const stretches = new Stretches()
  const tooNewSlots: number[] = []
  for (let i = 0; i < moved.stretchCount; i++) {
    const { from, start, at, end } = moved.stretch(i)
    for (let slot = at; slot < end;) {
      const row = rowOfSlot[slot] as number
      const kept = from === source.first ? start + slot - at : -1
      const later = kept < 0 ? 0 : laterCount(rowOfSlot, slot, end, scores.snapshotAtMs, snapshotAtMs, kept)
      const unknown = kept < 0 || later > 0 ? 0 : unknownCount(rowOfSlot, slot, end, snapshotAtMs, kept)
      stretches.add(source.second, row, later)
      stretches.addBlank(unknown)
      slot += later + unknown
      if (later + unknown > 0) continue
      const ms = kept < 0 ? NaN : (snapshotAtMs[kept] as number)
      const fraction = kept < 0 ? NaN : (snapshotAtFraction[kept] as number)
      if (row >= 0 && !(compareTo(scores, row, ms, fraction) < 0)) stretches.add(source.second, row, 1)
      else if (isNaN(ms)) stretches.addBlank(1)
      else {
        stretches.add(source.first, kept, 1)
        if ((ms - cycleAt.ms || fraction - cycleAt.fraction) > 0) tooNewSlots.push(slot)
      }
      slot++
    }
  }
  const latest = joinFloats(snapshotColumnNames, pool.snapshot, scores, stretches, memory)
  if (tooNewSlots.length === 0) return { latest, used: latest }
  const used = copyFloats(snapshotColumnNames, latest)
  for (const slot of tooNewSlots) {
    const row = rowOfSlot[slot] as number
    for (const name of snapshotColumnNames) used[name][slot] = row < 0 ? NaN : (scores[name][row] as number)
  }
  return { latest, used }
}

/** Order in time of a snapshot and a moment; NaN where the moment is none. */
function compareTo(scores: SnapshotColumns, row: number, ms: number, fraction: number): number {
  return (scores.snapshotAtMs[row] as number) - ms || (scores.snapshotAtFraction[row] as number) - fraction
}
