/**
 * The last two `ok` readings of each post after a cycle's engagement. A reading of a late cycle never replaces a newer
 * one (docs/contract.md, The pending pool).
 */
import {
  assert,
  readingNames,
  statusOk,
  type EngagementColumns,
  type ReadingColumns,
} from '../contract/index.js'
import { noSource, secondRow, Sources } from './gather.js'
import { copyFloats, gatherFloats } from './post-columns.js'
import type { PoolState } from './state.js'

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
