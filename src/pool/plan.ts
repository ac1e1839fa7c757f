/**
 * What one cycle changes: `planCycle` computes the next state of the pool, the rows to score and the warnings from
 * the state and the cycle alone, and changes nothing. Read it first; the rest of the file serves it.
 */
import {
  compareInstants,
  counterNames,
  cycleIdOf,
  outcome,
  statusOk,
  type CycleColumns,
  type Instant,
  type ReadingColumns,
  type SnapshotColumns,
} from '../contract/index.js'
import {
  copyGroup,
  copyRow,
  gatherColumn,
  gatherGroup,
  gatherPosts,
  readingNames,
  snapshotColumnNames,
} from './columns.js'
import { planEntries, type Entries } from './entries.js'
import { latestRows, type LatestRows } from './latest-rows.js'
import type { ScoringInputs } from './scoring-inputs.js'
import { indexKeys, type PoolState } from './state.js'
import type { Tombstones } from './tombstones.js'
import { PostWarning, unknownFieldLines } from './warnings.js'

/** All that follows from one cycle, apart from the scores. */
export interface CyclePlan {
  readonly base: PoolState
  readonly next: PoolState
  readonly entries: Entries
  /** Cycle time of the departures: never before an earlier one's. */
  readonly leftAtMs: number
  /** Without `imagesStored`, which the pool does not know. */
  readonly scoring: Omit<ScoringInputs, 'imagesStored'>
  /** By slot of `next`: index into `outcomeCodes`. */
  readonly outcomes: Uint8Array
  /** Engagement rows of posts never seen, in request order. */
  readonly unknownRows: readonly number[]
  readonly missingFeatureShare: number
  readonly warnings: readonly string[]
}

/** `position`: where the store will keep this cycle. */
export function planCycle(
  pool: PoolState,
  tombstones: Tombstones,
  cycle: CycleColumns,
  position: number,
): CyclePlan {
  const { galleries, codes } = mapGalleries(pool, cycle)
  const entries = planEntries(pool, cycle, codes)
  const moved = movePosts(pool, galleries, cycle, entries, codes, position)

  const duplicateReadings = new PostWarning('more than one engagement row, the latest counts')
  const { engagement, candidateScores } = cycle
  const readings = latestRows(
    {
      ...engagement,
      atMs: engagement.observedAtMs,
      atFraction: engagement.observedAtFraction,
      codes,
      galleries: cycle.galleries,
    },
    moved.index,
    moved.count,
    duplicateReadings,
  )
  const duplicateSnapshots = new PostWarning('more than one candidate_scores row, the latest counts')
  const snapshots = latestRows(
    {
      ...candidateScores,
      atMs: candidateScores.snapshotAtMs,
      atFraction: candidateScores.snapshotAtFraction,
      codes,
      galleries: cycle.galleries,
    },
    moved.index,
    moved.count,
    duplicateSnapshots,
  )

  const previous = keepReadings(moved, cycle, readings)
  const snapshot = keepSnapshots(moved, cycle, snapshots)
  const others = sortOthers(cycle, readings, codes, entries, tombstones)
  const judged = judge(moved, cycle, readings)
  return {
    base: pool,
    next: moved,
    entries,
    leftAtMs: moved.newestCycleMs,
    scoring: {
      cycleAtMs: cycle.cycleAt.ms,
      count: judged.slots.length,
      slots: judged.slots,
      readings: judged.readings,
      posts: moved.posts,
      engagement,
      previous,
      snapshot,
    },
    outcomes: judged.outcomes,
    unknownRows: others.unknownRows,
    missingFeatureShare: missingShare(cycle),
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

function mapGalleries(
  pool: PoolState,
  cycle: CycleColumns,
): { galleries: readonly string[]; codes: Uint32Array } {
  const known = new Map(pool.galleries.map((id, code) => [id, code]))
  const added: string[] = []
  const codes = Uint32Array.from(cycle.galleries, (id) => {
    const code = known.get(id)
    if (code !== undefined) return code
    added.push(id)
    return pool.galleries.length + added.length - 1
  })
  return { galleries: added.length === 0 ? pool.galleries : [...pool.galleries, ...added], codes }
}

/** The pool after entries and departures, with the readings and snapshots that the stayers had. */
function movePosts(
  pool: PoolState,
  galleries: readonly string[],
  cycle: CycleColumns,
  entries: Entries,
  codes: Uint32Array,
  position: number,
): PoolState {
  const { candidates } = cycle
  const { keptSlots, enteredRows } = entries
  const count = keptSlots.length + enteredRows.length
  const candidateGallery = candidates.gallery.map((request) => codes[request] as number)
  const gallery = gatherColumn(pool.gallery, keptSlots, candidateGallery, enteredRows)
  const postNo = gatherColumn(pool.postNo, keptSlots, candidates.postNo, enteredRows)
  const enteredPosition = gatherGroup({ column: pool.enteredPosition }, keptSlots, count).column
  const enteredRow = gatherGroup({ column: pool.enteredRow }, keptSlots, count).column
  for (let i = 0; i < enteredRows.length; i++) {
    enteredPosition[keptSlots.length + i] = position
    enteredRow[keptSlots.length + i] = i
  }
  return {
    count,
    galleries,
    gallery,
    postNo,
    index: indexKeys(gallery, postNo),
    enteredPosition,
    enteredRow,
    posts: gatherPosts(pool.posts, keptSlots, candidates, enteredRows),
    latest: gatherGroup({ ...pool.latest }, keptSlots, count),
    previous: gatherGroup({ ...pool.previous }, keptSlots, count),
    snapshot: gatherGroup({ ...pool.snapshot }, keptSlots, count),
    newestCycleMs: Math.max(pool.newestCycleMs, cycle.cycleAt.ms),
  }
}

/**
 * Writes this cycle's `ok` readings into the last two of each post, in `next` itself, and gives for each slot the
 * reading before the one that is scored. A late cycle's reading never replaces a newer one (decisions.md 12).
 */
function keepReadings(next: PoolState, cycle: CycleColumns, readings: LatestRows): ReadingColumns {
  const { engagement } = cycle
  const { latest, previous } = next
  const older: { slot: number; before: number[] }[] = []
  for (let slot = 0; slot < next.count; slot++) {
    const row = readings.rowOfSlot[slot] as number
    if (row < 0 || engagement.status[row] !== statusOk) continue
    const at = readingAt(engagement, row)
    if (isOlder(at, readingAt(latest, slot))) {
      const between = isAfter(at, readingAt(previous, slot))
      older.push({
        slot,
        before: readingNames.map((name) => (between ? (previous[name][slot] as number) : NaN)),
      })
      if (!isOlder(at, readingAt(previous, slot))) copyRow(readingNames, engagement, row, previous, slot)
    } else {
      if (isAfter(at, readingAt(latest, slot))) copyRow(readingNames, latest, slot, previous, slot)
      copyRow(readingNames, engagement, row, latest, slot)
    }
  }
  if (older.length === 0) return previous
  // An older reading than the newest is scored against what came before itself, not before the newest.
  const before = copyGroup({ ...previous })
  for (const { slot, before: values } of older)
    readingNames.forEach((name, i) => (before[name][slot] = values[i] as number))
  return before
}

function readingAt(columns: ReadingColumns, row: number): Instant {
  return { ms: columns.observedAtMs[row] as number, fraction: columns.observedAtFraction[row] as number }
}

function snapshotAt(columns: SnapshotColumns, row: number): Instant {
  return { ms: columns.snapshotAtMs[row] as number, fraction: columns.snapshotAtFraction[row] as number }
}

/** Later than `other`, or `other` is none. */
function isAfter(at: Instant, other: Instant): boolean {
  return Number.isNaN(other.ms) || compareInstants(at, other) > 0
}

function isOlder(at: Instant, other: Instant): boolean {
  return !Number.isNaN(other.ms) && compareInstants(at, other) < 0
}

/**
 * Writes this cycle's snapshots into `next` where they are the newest, and gives for each slot the one to score with:
 * for a late cycle never one from after its time (decisions.md 39).
 */
function keepSnapshots(next: PoolState, cycle: CycleColumns, snapshots: LatestRows): SnapshotColumns {
  const { candidateScores, cycleAt } = cycle
  const kept = next.snapshot
  const tooNew: number[] = []
  for (let slot = 0; slot < next.count; slot++) {
    const row = snapshots.rowOfSlot[slot] as number
    const standing = snapshotAt(kept, slot)
    if (row >= 0 && !isOlder(snapshotAt(candidateScores, row), standing)) {
      copyRow(snapshotColumnNames, candidateScores, row, kept, slot)
    } else if (!Number.isNaN(standing.ms) && compareInstants(standing, cycleAt) > 0) tooNew.push(slot)
  }
  if (tooNew.length === 0) return kept
  const used = copyGroup({ ...kept })
  for (const slot of tooNew) {
    const row = snapshots.rowOfSlot[slot] as number
    if (row >= 0) copyRow(snapshotColumnNames, candidateScores, row, used, slot)
    else for (const name of snapshotColumnNames) used[name][slot] = NaN
  }
  return used
}

/** Engagement of posts that are not pending: removed ones are left out, with a warning; the rest is unknown. */
function sortOthers(
  cycle: CycleColumns,
  readings: LatestRows,
  codes: Uint32Array,
  entries: Entries,
  tombstones: Tombstones,
): { unknownRows: number[]; removed: PostWarning } {
  const removed = new PostWarning('engagement of a removed post, left out')
  const leftNow = new Set(
    entries.left.gallery.map((gallery, i) => `${gallery}/${entries.left.postNo[i] as number}`),
  )
  const unknownRows = readings.otherRows.filter((row) => {
    const request = cycle.engagement.gallery[row] as number
    const gallery = codes[request] as number
    const postNo = cycle.engagement.postNo[row] as number
    if (!leftNow.has(`${gallery}/${postNo}`) && !tombstones.has(gallery, postNo)) return true
    removed.add(cycle.galleries[request] as string, postNo)
    return false
  })
  return { unknownRows, removed }
}

interface Judgement {
  readonly outcomes: Uint8Array
  readonly slots: Uint32Array
  readonly readings: Uint32Array
}

/** Who is scored and why not, in the precedence of decisions.md 18. */
function judge(next: PoolState, cycle: CycleColumns, readings: LatestRows): Judgement {
  const { posts } = next
  const outcomes = new Uint8Array(next.count)
  const slots: number[] = []
  const rows: number[] = []
  for (let slot = 0; slot < next.count; slot++) {
    const row = readings.rowOfSlot[slot] as number
    if (row < 0) outcomes[slot] = outcome.waiting
    else if (posts.title.chars[slot] === posts.title.spaces[slot]) outcomes[slot] = outcome.missingTitle
    else if (Number.isNaN(posts.createdAtMs[slot]) || Number.isNaN(posts.extractedAtMs[slot]))
      outcomes[slot] = outcome.missingClock
    else if (cycle.engagement.status[row] !== statusOk) outcomes[slot] = outcome.postUnavailable
    else {
      outcomes[slot] = outcome.scored
      slots.push(slot)
      rows.push(row)
    }
  }
  return { outcomes, slots: Uint32Array.from(slots), readings: Uint32Array.from(rows) }
}

/** Null counters over all counters of the engagement rows received (decisions.md 22). */
function missingShare({ engagement }: CycleColumns): number {
  if (engagement.count === 0) return 0
  let nulls = 0
  for (const name of counterNames) {
    const column = engagement[name]
    for (let row = 0; row < engagement.count; row++) if (Number.isNaN(column[row])) nulls++
  }
  return nulls / (counterNames.length * engagement.count)
}

function lateLine(pool: PoolState, cycle: CycleColumns): string[] {
  if (cycle.cycleAt.ms >= pool.newestCycleMs) return []
  return [`late cycle: ${cycleIdOf(pool.newestCycleMs)} is stored already, newer readings stay`]
}
