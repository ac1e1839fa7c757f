/**
 * What one cycle changes: `planCycle` computes the next state of the pool, the rows to score and the warnings from
 * the state and the cycle alone, and changes nothing. Read it first; the rest of the folder serves it.
 */
import {
  assert,
  counterNames,
  cycleIdOf,
  type CycleColumns,
  type EngagementColumns,
  type Warning,
} from '../contract/index.js'
import { planChanges, type PoolChanges } from './pool-changes.js'
import { keepReadings, keepSnapshots, latestRows } from './readings.js'
import { gatherFloat64, Sources } from './gather.js'
import { gatherPosts } from './post-columns.js'
import { PostMap } from './post-map.js'
import { slotOutcomes, type PoolInputs } from './scoring.js'
import { codesIn, nextKeys, type PoolState } from './state.js'
import type { Tombstones } from './tombstones.js'
import { PostWarning, unknownFieldWarnings } from './warnings.js'

/** All that follows from one cycle, apart from the scores. */
export interface CyclePlan {
  /** Store position of the cycle. */
  readonly position: number
  readonly base: PoolState
  readonly next: PoolState
  readonly changes: PoolChanges
  /** Cycle time of the departures: never earlier than that of an earlier plan. */
  readonly leftAtMs: number
  readonly scoring: PoolInputs
  /** Index into `outcomeCodes`, by slot of `next`. */
  readonly outcomes: Uint8Array
  /** Engagement rows of posts never seen, in request order. */
  readonly unknownRows: readonly number[]
  readonly missingFeatureShare: number
  readonly warnings: readonly Warning[]
}

/** `position`: where the store will keep this cycle. */
export function planCycle(
  pool: PoolState,
  tombstones: Tombstones,
  cycle: CycleColumns,
  position: number,
): CyclePlan {
  assert(position > pool.position, 'cycles are planned in order of arrival')
  const { engagement, candidateScores, galleries } = cycle
  const codesBefore = codesIn(pool, galleries)
  const changes = planChanges(pool, cycle, codesBefore)
  const { sources } = changes
  const postSources = new Sources(sources)
  const { codes, ...keys } = nextKeys(pool, cycle, postSources, codesBefore)

  const { observedAtMs, observedAtFraction } = engagement
  const duplicateReadings = new PostWarning('duplicate_engagement')
  const readings = latestRows(
    { keys: engagement, atMs: observedAtMs, atFraction: observedAtFraction, galleries, codes },
    keys,
    duplicateReadings,
  )
  const { snapshotAtMs, snapshotAtFraction } = candidateScores
  const duplicateSnapshots = new PostWarning('duplicate_candidate_scores')
  const scores = latestRows(
    { keys: candidateScores, atMs: snapshotAtMs, atFraction: snapshotAtFraction, galleries, codes },
    keys,
    duplicateSnapshots,
  )

  const kept = keepReadings(pool, engagement, sources, readings.rowOfSlot)
  const snapshots = keepSnapshots(pool, candidateScores, sources, scores.rowOfSlot, cycle.cycleAt)
  const next: PoolState = {
    position,
    ...keys,
    ...entryColumns(pool, changes, position),
    posts: gatherPosts(postSources, pool.posts, cycle.candidates),
    latest: kept.latest,
    previous: kept.previous,
    snapshot: snapshots.latest,
    newestCycleMs: Math.max(pool.newestCycleMs, cycle.cycleAt.ms),
  }
  const others = classifyOthers(cycle, readings.otherRows, changes, tombstones)
  const { outcomes, ...scored } = slotOutcomes(next, engagement, readings.rowOfSlot)
  return {
    position,
    base: pool,
    next,
    changes,
    leftAtMs: next.newestCycleMs,
    scoring: {
      cycleAtMs: cycle.cycleAt.ms,
      count: scored.slots.length,
      slots: scored.slots,
      readings: scored.readings,
      galleries: next.galleries,
      gallery: next.gallery,
      posts: next.posts,
      engagement,
      previous: kept.before,
      snapshot: snapshots.used,
    },
    outcomes,
    unknownRows: others.unknownRows,
    missingFeatureShare: missingShare(engagement),
    warnings: [
      ...unknownFieldWarnings(cycle.unknownFields),
      ...lateWarning(pool, cycle),
      ...changes.warnings,
      ...duplicateReadings.list(),
      ...duplicateSnapshots.list(),
      ...others.removed.list(),
    ],
  }
}

/** The cycle and the row with which each post of the next state entered. */
function entryColumns(
  pool: PoolState,
  { sources, keptCount }: PoolChanges,
  position: number,
): Pick<PoolState, 'enteredPosition' | 'enteredRow'> {
  const keptSources = new Sources(sources.subarray(0, keptCount))
  const enteredPosition = new Float64Array(sources.length).fill(position, keptCount)
  const enteredRow = new Float64Array(sources.length)
  const kept = [
    [pool.enteredPosition, enteredPosition],
    [pool.enteredRow, enteredRow],
  ] as const
  for (const [before, column] of kept)
    gatherFloat64(keptSources, before, before, column.subarray(0, keptCount))
  for (let slot = keptCount; slot < sources.length; slot++) enteredRow[slot] = slot - keptCount
  return { enteredPosition, enteredRow }
}

/** Engagement of posts that are not pending. That of removed posts is ignored, with a warning; the rest is unknown. */
function classifyOthers(
  { galleries, engagement, removals }: CycleColumns,
  otherRows: readonly number[],
  { departedRows }: PoolChanges,
  tombstones: Tombstones,
): { unknownRows: readonly number[]; removed: PostWarning } {
  const removed = new PostWarning('engagement_of_removed_post')
  if (otherRows.length === 0) return { unknownRows: [], removed }
  const departedNow = new PostMap<number, true>()
  for (const row of departedRows) departedNow.set(removals.gallery[row]!, removals.postNo[row]!, true)
  const unknownRows = otherRows.filter((row) => {
    const gallery = engagement.gallery[row]!
    const postNo = engagement.postNo[row]!
    const gallId = galleries[gallery]!
    if (departedNow.get(gallery, postNo) === undefined && !tombstones.has(gallId, postNo)) return true
    removed.add(gallId, postNo)
    return false
  })
  return { unknownRows, removed }
}

/** `missing_feature_share`: null counters among all counters of the engagement rows received. */
function missingShare(engagement: EngagementColumns): number {
  if (engagement.count === 0) return 0
  let nulls = 0
  for (const name of counterNames) nulls += countNaN(engagement[name])
  return nulls / (counterNames.length * engagement.count)
}

function countNaN(column: Float64Array): number {
  let count = 0
  for (let row = 0; row < column.length; row++) if (isNaN(column[row]!)) count++
  return count
}

function lateWarning(pool: PoolState, cycle: CycleColumns): Warning[] {
  if (cycle.cycleAt.ms >= pool.newestCycleMs) return []
  const detail = `${cycleIdOf(pool.newestCycleMs)} is already stored; its readings were kept`
  return [{ code: 'late_cycle', count: null, detail }]
}
