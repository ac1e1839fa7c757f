/**
 * What one cycle changes: `planCycle` computes the next state of the pool, the rows to score and the warnings from
 * the state and the cycle alone, and changes nothing. Read it first; the rest of the folder serves it.
 */
import { counterNames, cycleIdOf, type CycleColumns, type EngagementColumns } from '../contract/index.js'
import type { ColumnMemory } from './column-memory.js'
import { planEntries, type Entries } from './entries.js'
import { keepReadings } from './kept-readings.js'
import { keepSnapshots } from './kept-snapshots.js'
import { KeyIndex } from './key-index.js'
import { latestRows } from './latest-rows.js'
import { codesIn, moveKeys, movePosts } from './moved-posts.js'
import { judgeSlots } from './scored-rows.js'
import type { PoolInputs } from './scoring-inputs.js'
import type { PoolState } from './state.js'
import type { Tombstones } from './tombstones.js'
import { PostWarning, unknownFieldLines } from './warnings.js'

/** All that follows from one cycle, apart from the scores. */
export interface CyclePlan {
  /** Where the store will keep the cycle. */
  readonly position: number
  readonly base: PoolState
  readonly next: PoolState
  readonly entries: Entries
  /** Cycle time of the departures: never before an earlier one's. */
  readonly leftAtMs: number
  readonly scoring: PoolInputs
  /** By slot of `next`: index into `outcomeCodes`. */
  readonly outcomes: Uint8Array
  /** Engagement rows of posts never seen, in request order. */
  readonly unknownRows: readonly number[]
  readonly missingFeatureShare: number
  readonly warnings: readonly string[]
}

/** `position`: where the store will keep this cycle. `memory`: for the plan and the columns of the next state. */
export function planCycle(
  pool: PoolState,
  tombstones: Tombstones,
  cycle: CycleColumns,
  position: number,
  memory: ColumnMemory,
): CyclePlan {
  const { engagement, candidateScores, galleries } = cycle
  const codesBefore = codesIn(pool.galleries, galleries)
  const entries = planEntries(pool, cycle, codesBefore, memory)
  const { moved } = entries
  const { codes, ...keys } = moveKeys(pool, cycle, entries, codesBefore, memory)

  const { observedAtMs, observedAtFraction } = engagement
  const duplicateReadings = new PostWarning('more than one engagement row, the latest counts')
  const readings = latestRows(
    { keys: engagement, atMs: observedAtMs, atFraction: observedAtFraction, galleries, codes },
    keys,
    duplicateReadings,
    memory,
  )
  const { snapshotAtMs, snapshotAtFraction } = candidateScores
  const duplicateSnapshots = new PostWarning('more than one candidate_scores row, the latest counts')
  const scores = latestRows(
    { keys: candidateScores, atMs: snapshotAtMs, atFraction: snapshotAtFraction, galleries, codes },
    keys,
    duplicateSnapshots,
    memory,
  )

  const kept = keepReadings(pool, engagement, moved, readings.rowOfSlot, memory)
  const snapshots = keepSnapshots(pool, candidateScores, moved, scores.rowOfSlot, cycle.cycleAt, memory)
  const next: PoolState = {
    ...keys,
    ...movePosts(pool, cycle, entries, position, memory),
    latest: kept.latest,
    previous: kept.previous,
    snapshot: snapshots.latest,
    newestCycleMs: Math.max(pool.newestCycleMs, cycle.cycleAt.ms),
  }
  const others = sortOthers(pool, cycle, readings.otherRows, entries, tombstones)
  const { outcomes, ...scored } = judgeSlots(next, engagement, readings.rowOfSlot, memory)
  return {
    position,
    base: pool,
    next,
    entries,
    leftAtMs: next.newestCycleMs,
    scoring: {
      cycleAtMs: cycle.cycleAt.ms,
      count: scored.slots.length,
      slots: scored.slots,
      readings: scored.readings,
      posts: next.posts,
      engagement,
      previous: kept.before,
      snapshot: snapshots.used,
    },
    outcomes,
    unknownRows: others.unknownRows,
    missingFeatureShare: missingShare(engagement),
    warnings: [
      ...unknownFieldLines(cycle.unknownFields),
      ...lateLine(pool, cycle),
      ...entries.warnings,
      ...duplicateReadings.lines(),
      ...duplicateSnapshots.lines(),
      ...others.removed.lines(),
    ],
  }
}

/** Engagement of posts that are not pending: removed ones are left out, with a warning; the rest is unknown. */
function sortOthers(
  { factors }: PoolState,
  { galleries, engagement, removals }: CycleColumns,
  otherRows: readonly number[],
  { leftRows }: Entries,
  tombstones: Tombstones,
): { unknownRows: readonly number[]; removed: PostWarning } {
  const removed = new PostWarning('engagement of a removed post, left out')
  if (otherRows.length === 0) return { unknownRows: [], removed }
  const leftNow = new KeyIndex(removals.gallery, removals.postNo, leftRows.length, factors)
  for (const row of leftRows) leftNow.add(row)
  const unknownRows = otherRows.filter((row) => {
    const gallery = engagement.gallery[row] as number
    const postNo = engagement.postNo[row] as number
    const gallId = galleries[gallery] as string
    if (leftNow.find(gallery, postNo) < 0 && !tombstones.has(gallId, postNo)) return true
    removed.add(gallId, postNo)
    return false
  })
  return { unknownRows, removed }
}

/** Null counters over all counters of the engagement rows received (decisions.md 22). */
function missingShare(engagement: EngagementColumns): number {
  if (engagement.count === 0) return 0
  let nulls = 0
  for (const name of counterNames) nulls += countNulls(engagement[name])
  return nulls / (counterNames.length * engagement.count)
}

/** Nulls are rare: four rows at a time are added up, which is NaN where one of them is null. */
function countNulls(column: Float64Array): number {
  let nulls = 0
  let row = 0
  for (; row + 3 < column.length; row += 4) {
    const a = column[row] as number
    const b = column[row + 1] as number
    const c = column[row + 2] as number
    const d = column[row + 3] as number
    if (isNaN(a + b + c + d))
      nulls += Number(isNaN(a)) + Number(isNaN(b)) + Number(isNaN(c)) + Number(isNaN(d))
  }
  for (; row < column.length; row++) if (isNaN(column[row] as number)) nulls++
  return nulls
}

function lateLine(pool: PoolState, cycle: CycleColumns): string[] {
  if (cycle.cycleAt.ms >= pool.newestCycleMs) return []
  return [`late cycle: ${cycleIdOf(pool.newestCycleMs)} is stored already, newer readings stay`]
}
