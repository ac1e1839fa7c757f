/**
 * What a cycle's engagement makes of the last two `ok` readings of each post. A late cycle's reading never replaces a
 * newer one (decisions.md 12).
 */
import { statusOk, type EngagementColumns, type ReadingColumns } from '../contract/index.js'
import type { ColumnMemory } from './column-memory.js'
import { copyFloats, joinFloats, readingNames } from './columns.js'
import { laterCount } from './latest-rows.js'
import type { PoolState } from './state.js'
import { source, Stretches } from './stretches.js'

export interface KeptReadings {
  /** By slot of the next state: its last two readings. */
  readonly latest: ReadingColumns
  readonly previous: ReadingColumns
  /** By slot of the next state: the reading before the one that is scored. */
  readonly before: ReadingColumns
}

/**
 * `moved`: the slots of the next state, by slots of `pool` and candidate rows. `rowOfSlot`: by slot of the next state,
 * the engagement row that counts, or -1.
 */
export function keepReadings(
  pool: PoolState,
  engagement: EngagementColumns,
  moved: Stretches,
  rowOfSlot: Int32Array,
  memory: ColumnMemory,
): KeptReadings {
  const latest = new Stretches()
  const previous = new Stretches()
  const olderSlots: number[] = []
  for (let i = 0; i < moved.stretchCount; i++) {
    const { from, start, at, end } = moved.stretch(i)
    if (from === source.second) {
      addFirstReadings(engagement, rowOfSlot, at, end, latest)
      previous.addBlank(end - at)
      continue
    }
    for (let slot = at; slot < end;) {
      const row = rowOfSlot[slot] as number
      const kept = start + slot - at
      const newer = newerCount(engagement, pool.latest, rowOfSlot, slot, end, kept)
      if (newer > 0) {
        latest.add(source.second, row, newer)
        previous.add(source.second, kept, newer)
        slot += newer
        continue
      }
      const order = isReading(engagement, row) ? compareReadings(engagement, row, pool.latest, kept) : null
      if (order !== null && order < 0) olderSlots.push(slot)
      if (order !== null && order >= 0) latest.add(source.second, row, 1)
      else latest.add(source.first, kept, 1)
      previous.add(order !== null && order > 0 ? source.second : source.first, kept, 1)
      slot++
    }
  }
  const joined = {
    latest: joinFloats(readingNames, pool.latest, engagement, latest, memory),
    previous: joinFloats(readingNames, pool.previous, pool.latest, previous, memory),
  }
  if (olderSlots.length === 0) return { ...joined, before: joined.previous }
  return { ...joined, before: keepOlderReadings(joined.previous, engagement, rowOfSlot, olderSlots) }
}

/** Readings of posts that enter, slots `at` to before `end`. */
function addFirstReadings(
  engagement: EngagementColumns,
  rowOfSlot: Int32Array,
  at: number,
  end: number,
  latest: Stretches,
): void {
  for (let slot = at; slot < end; slot++) {
    const row = rowOfSlot[slot] as number
    if (isReading(engagement, row)) latest.add(source.second, row, 1)
    else latest.addBlank(1)
  }
}

/** How many slots from `slot` on have readings in rows that follow each other, each newer than the one kept. */
function newerCount(
  { observedAtMs, status }: EngagementColumns,
  latest: ReadingColumns,
  rowOfSlot: Int32Array,
  slot: number,
  end: number,
  kept: number,
): number {
  const row = rowOfSlot[slot] as number
  const later = laterCount(rowOfSlot, slot, end, observedAtMs, latest.observedAtMs, kept)
  let count = 0
  while (count < later && status[row + count] === statusOk) count++
  return count
}

function isReading({ status }: EngagementColumns, row: number): boolean {
  return row >= 0 && status[row] === statusOk
}

/**
 * A reading older than the newest is scored against what came before itself. Gives `previous` with that in its place,
 * and keeps the reading as the one before the newest where it is that.
 */
function keepOlderReadings(
  previous: Record<(typeof readingNames)[number], Float64Array>,
  engagement: EngagementColumns,
  rowOfSlot: Int32Array,
  slots: readonly number[],
): ReadingColumns {
  const before = copyFloats(readingNames, previous)
  for (const slot of slots) {
    const row = rowOfSlot[slot] as number
    const order = compareReadings(engagement, row, previous, slot)
    for (const name of readingNames) {
      if (order <= 0) before[name][slot] = NaN
      if (order >= 0) previous[name][slot] = engagement[name][row] as number
    }
  }
  return before
}

/** Order in time of a reading and a kept one; a kept one that is none comes before everything. */
function compareReadings(a: ReadingColumns, rowA: number, b: ReadingColumns, rowB: number): number {
  const standing = b.observedAtMs[rowB] as number
  if (isNaN(standing)) return 1
  return (
    (a.observedAtMs[rowA] as number) - standing ||
    (a.observedAtFraction[rowA] as number) - (b.observedAtFraction[rowB] as number)
  )
}
