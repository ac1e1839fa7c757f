/**
 * What one cycle changes: `planCycle` computes the next state of the pool, the rows to score and the warnings from
 * the state and the cycle alone, and changes nothing. Read it first; the rest of the file serves it.
 */
import {
  counterNames,
  cycleIdOf,
  outcome,
  statusOk,
  type CycleColumns,
  type EngagementColumns,
  type ReadingColumns,
  type SnapshotColumns,
} from '../contract/index.js'
import type { ColumnMemory } from './column-memory.js'
import {
  copyGroup,
  gatherColumn,
  gatherGroup,
  gatherPosts,
  moveRows,
  readingNames,
  RowPairs,
  Selection,
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
  /** Where the store will keep the cycle. */
  readonly position: number
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

/** `position`: where the store will keep this cycle. `memory`: for the columns of the next state. */
export function planCycle(
  pool: PoolState,
  tombstones: Tombstones,
  cycle: CycleColumns,
  position: number,
  memory: ColumnMemory,
): CyclePlan {
  const codesBefore = codesIn(pool.galleries, cycle)
  const entries = planEntries(pool, cycle, codesBefore)
  const moved = movePosts(pool, cycle, entries, codesBefore, position, memory)
  const codes = codesIn(moved.galleries, cycle)

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
  const others = sortOthers(cycle, readings, entries, tombstones)
  const judged = judge(moved, cycle, readings)
  return {
    position,
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

/** Gallery codes of a state for the codes of the request. Galleries that the state lacks get codes past its own. */
function codesIn(galleries: readonly string[], cycle: CycleColumns): Uint32Array {
  const known = new Map(galleries.map((id, code) => [id, code]))
  return Uint32Array.from(cycle.galleries, (id, index) => known.get(id) ?? galleries.length + index)
}

/** The pool after entries and departures, with the readings and snapshots that the stayers had. */
function movePosts(
  pool: PoolState,
  cycle: CycleColumns,
  entries: Entries,
  codes: Uint32Array,
  position: number,
  memory: ColumnMemory,
): PoolState {
  const { candidates } = cycle
  const { enteredRows } = entries
  const kept = new Selection(entries.keptSlots)
  const entered = new Selection(enteredRows)
  const count = kept.count + entered.count
  const { galleries, gallery } = moveGalleries(pool, cycle, entries, codes, memory)
  const postNo = gatherColumn(pool.postNo, kept, candidates.postNo, entered, memory)
  const enteredPosition = gatherGroup({ column: pool.enteredPosition }, kept, count, memory).column
  const enteredRow = gatherGroup({ column: pool.enteredRow }, kept, count, memory).column
  for (let i = 0; i < enteredRows.length; i++) {
    enteredPosition[kept.count + i] = position
    enteredRow[kept.count + i] = i
  }
  return {
    count,
    galleries,
    gallery,
    postNo,
    index: indexKeys(gallery, postNo, memory),
    enteredPosition,
    enteredRow,
    posts: gatherPosts(pool.posts, kept, candidates, entered, memory),
    latest: gatherGroup({ ...pool.latest }, kept, count, memory),
    previous: gatherGroup({ ...pool.previous }, kept, count, memory),
    snapshot: gatherGroup({ ...pool.snapshot }, kept, count, memory),
    newestCycleMs: Math.max(pool.newestCycleMs, cycle.cycleAt.ms),
  }
}

/** Galleries of the posts that stay and enter, in order of appearance: nothing is retained of others. */
function moveGalleries(
  pool: PoolState,
  cycle: CycleColumns,
  { keptSlots, enteredRows }: Entries,
  codes: Uint32Array,
  memory: ColumnMemory,
): { galleries: string[]; gallery: Uint32Array } {
  const galleries: string[] = []
  const codeBefore = pool.galleries.length
  const renumbered = new Int32Array(codeBefore + cycle.galleries.length).fill(-1)
  const renumber = (code: number): number => {
    const known = renumbered[code] as number
    if (known >= 0) return known
    galleries.push((code < codeBefore ? pool.galleries[code] : cycle.galleries[code - codeBefore]) as string)
    return (renumbered[code] = galleries.length - 1)
  }
  const gallery = memory.uint32(keptSlots.length + enteredRows.length)
  for (let i = 0; i < keptSlots.length; i++)
    gallery[i] = renumber(pool.gallery[keptSlots[i] as number] as number)
  for (let i = 0; i < enteredRows.length; i++) {
    const request = cycle.candidates.gallery[enteredRows[i] as number] as number
    gallery[keptSlots.length + i] = renumber(codes[request] as number)
  }
  return { galleries, gallery }
}

/**
 * Writes this cycle's `ok` readings into the last two of each post, in `next` itself, and gives for each slot the
 * reading before the one that is scored. A late cycle's reading never replaces a newer one (decisions.md 12).
 */
function keepReadings(next: PoolState, cycle: CycleColumns, readings: LatestRows): ReadingColumns {
  const { engagement } = cycle
  const { latest, previous } = next
  const newer = new RowPairs(next.count)
  const replacing = new RowPairs(next.count)
  const older: number[] = []
  for (let slot = 0; slot < next.count; slot++) {
    const row = readings.rowOfSlot[slot] as number
    if (row < 0 || engagement.status[row] !== statusOk) continue
    const order = compareReadings(engagement, row, latest, slot)
    if (order > 0) newer.add(row, slot)
    else if (order < 0) older.push(slot)
    if (order >= 0) replacing.add(row, slot)
  }
  const before = older.length === 0 ? null : keepOlderReadings(next, engagement, readings, older)
  moveRows(readingNames, latest, newer.slots(), previous, newer.slots())
  moveRows(readingNames, engagement, replacing.rows(), latest, replacing.slots())
  if (before === null) return previous
  const patched = copyGroup({ ...previous })
  before.forEach((values, i) =>
    readingNames.forEach((name, k) => (patched[name][older[i] as number] = values[k] as number)),
  )
  return patched
}

/**
 * A reading older than the newest is scored against what came before itself. Gives those values, and keeps the reading
 * as the one before the newest where it is that.
 */
function keepOlderReadings(
  { previous }: PoolState,
  engagement: EngagementColumns,
  readings: LatestRows,
  slots: readonly number[],
): number[][] {
  return slots.map((slot) => {
    const row = readings.rowOfSlot[slot] as number
    const order = compareReadings(engagement, row, previous, slot)
    const before = readingNames.map((name) => (order > 0 ? (previous[name][slot] as number) : NaN))
    if (order >= 0) for (const name of readingNames) previous[name][slot] = engagement[name][row] as number
    return before
  })
}

/** Order in time of a reading and a kept one; a kept one that is none comes before everything. */
function compareReadings(a: ReadingColumns, rowA: number, b: ReadingColumns, rowB: number): number {
  const standing = b.observedAtMs[rowB] as number
  if (Number.isNaN(standing)) return 1
  return (
    (a.observedAtMs[rowA] as number) - standing ||
    (a.observedAtFraction[rowA] as number) - (b.observedAtFraction[rowB] as number)
  )
}

/**
 * Writes this cycle's snapshots into `next` where they are the newest, and gives for each slot the one to score with:
 * for a late cycle never one from after its time (decisions.md 39).
 */
function keepSnapshots(next: PoolState, cycle: CycleColumns, snapshots: LatestRows): SnapshotColumns {
  const { candidateScores, cycleAt } = cycle
  const kept = next.snapshot
  const replacing = new RowPairs(next.count)
  const tooNew: number[] = []
  for (let slot = 0; slot < next.count; slot++) {
    const row = snapshots.rowOfSlot[slot] as number
    const ms = kept.snapshotAtMs[slot] as number
    const fraction = kept.snapshotAtFraction[slot] as number
    const standing = !Number.isNaN(ms)
    if (row >= 0 && !(standing && isBefore(candidateScores, row, ms, fraction))) replacing.add(row, slot)
    else if (standing && (ms - cycleAt.ms || fraction - cycleAt.fraction) > 0) tooNew.push(slot)
  }
  moveRows(snapshotColumnNames, candidateScores, replacing.rows(), kept, replacing.slots())
  if (tooNew.length === 0) return kept
  const used = copyGroup({ ...kept })
  for (const slot of tooNew) {
    const row = snapshots.rowOfSlot[slot] as number
    for (const name of snapshotColumnNames)
      used[name][slot] = row < 0 ? NaN : (candidateScores[name][row] as number)
  }
  return used
}

function isBefore(snapshots: SnapshotColumns, row: number, ms: number, fraction: number): boolean {
  return (
    ((snapshots.snapshotAtMs[row] as number) - ms ||
      (snapshots.snapshotAtFraction[row] as number) - fraction) < 0
  )
}

/** Engagement of posts that are not pending: removed ones are left out, with a warning; the rest is unknown. */
function sortOthers(
  cycle: CycleColumns,
  readings: LatestRows,
  entries: Entries,
  tombstones: Tombstones,
): { unknownRows: number[]; removed: PostWarning } {
  const removed = new PostWarning('engagement of a removed post, left out')
  if (readings.otherRows.length === 0) return { unknownRows: [], removed }
  const { gallIds, postNo: postNos } = entries.left
  const leftNow = new Set(gallIds.map((gallId, i) => `${gallId}/${postNos[i] as number}`))
  const unknownRows = readings.otherRows.filter((row) => {
    const gallId = cycle.galleries[cycle.engagement.gallery[row] as number] as string
    const postNo = cycle.engagement.postNo[row] as number
    if (!leftNow.has(`${gallId}/${postNo}`) && !tombstones.has(gallId, postNo)) return true
    removed.add(gallId, postNo)
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
