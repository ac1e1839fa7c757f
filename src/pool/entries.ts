/**
 * Who enters and who leaves with a cycle: candidates first, then removals (decisions.md 13 and 14).
 */
import type { CycleColumns, KeyColumns } from '../contract/index.js'
import { planCandidates } from './candidates.js'
import type { ColumnMemory } from './column-memory.js'
import type { KeyIndex } from './key-index.js'
import { findSlot, type PoolState } from './state.js'
import { source, Stretches } from './stretches.js'
import type { KeyList } from './tombstones.js'
import { PostWarning } from './warnings.js'

export interface Entries {
  /** The next pool: slots of this one that stay (the first source), then candidate rows that enter (the second). */
  readonly moved: Stretches
  readonly keptCount: number
  /** Candidate rows that enter and stay, in order. */
  readonly enteredRows: Uint32Array
  /** Removal rows that took effect: of pending posts, and of posts that entered with this very call. */
  readonly leftRows: Uint32Array
  /** Keys of the posts that left; and of all that entered, to take their tombstones away. */
  readonly left: KeyList
  readonly entered: KeyList
  readonly warnings: readonly string[]
}

/** `codes`: gallery codes of the pool for the codes of the request. */
export function planEntries(
  pool: PoolState,
  cycle: CycleColumns,
  codes: Uint32Array,
  memory: ColumnMemory,
): Entries {
  const candidates = planCandidates(pool, cycle, codes, memory)
  const removals = planRemovals(pool, cycle, codes, candidates.index, memory)
  const enteredRows = unmarked(candidates.rows, removals.candidateLeft)
  const moved = new Stretches()
  addUnmarked(moved, removals.slotLeft)
  const keptCount = moved.count
  for (let i = 0; i < enteredRows.length; i++) moved.add(source.second, enteredRows[i] as number, 1)
  return {
    moved,
    keptCount,
    enteredRows,
    leftRows: removals.rows,
    left: keysOf(cycle, cycle.removals, removals.rows),
    entered: keysOf(cycle, cycle.candidates, enteredRows),
    warnings: [...candidates.differing.lines(), ...removals.notPending.lines()],
  }
}

interface RemovalPlan {
  /** Removal rows that take effect. */
  readonly rows: Uint32Array
  /** 1 for slots, and for candidate rows, that leave. */
  readonly slotLeft: Uint8Array
  readonly candidateLeft: Uint8Array
  readonly notPending: PostWarning
}

/** `entering`: candidates, of which those that are pending are found in the pool first. */
function planRemovals(
  pool: PoolState,
  cycle: CycleColumns,
  codes: Uint32Array,
  entering: KeyIndex,
  memory: ColumnMemory,
): RemovalPlan {
  const { count, gallery, postNo } = cycle.removals
  const rows = memory.uint32(count)
  const slotLeft = memory.uint8(pool.count).fill(0)
  const candidateLeft = memory.uint8(cycle.candidates.count).fill(0)
  const notPending = new PostWarning('removal of a post that is not pending')
  let leaving = 0
  let guess = 0
  for (let row = 0; row < count; row++) {
    const request = gallery[row] as number
    const slot = findSlot(pool, codes[request] as number, postNo[row] as number, guess)
    guess = slot + 1
    const at = slot >= 0 ? slot : entering.find(request, postNo[row] as number)
    const left = slot >= 0 ? slotLeft : candidateLeft
    if (at < 0 || left[at] === 1) {
      notPending.add(galleryOf(cycle, cycle.removals, row), postNo[row] as number)
      continue
    }
    left[at] = 1
    rows[leaving++] = row
  }
  return { rows: rows.subarray(0, leaving), slotLeft, candidateLeft, notPending }
}

/** Takes the rows that have a mark out of `rows`, in place. */
function unmarked(rows: Uint32Array, marks: Uint8Array): Uint32Array {
  let count = 0
  for (let i = 0; i < rows.length; i++) if (marks[rows[i] as number] === 0) rows[count++] = rows[i] as number
  return rows.subarray(0, count)
}

/** Appends the slots that have no mark, run by run. */
function addUnmarked(stretches: Stretches, marks: Uint8Array): void {
  for (let slot = 0; slot < marks.length; slot++) {
    const start = slot
    while (slot < marks.length && marks[slot] === 0) slot++
    stretches.add(source.first, start, slot - start)
  }
}

function galleryOf(cycle: CycleColumns, keys: KeyColumns, row: number): string {
  return cycle.galleries[keys.gallery[row] as number] as string
}

/** Keys of `rows`, in memory of their own: they outlive the plan. Other galleries of the request do not. */
function keysOf(cycle: CycleColumns, keys: KeyColumns, rows: Uint32Array): KeyList {
  const galleries: string[] = []
  const codes = new Int32Array(cycle.galleries.length).fill(-1)
  const gallery = new Uint32Array(rows.length)
  const postNo = new Float64Array(rows.length)
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i] as number
    const request = keys.gallery[row] as number
    if (codes[request] === -1) codes[request] = galleries.push(cycle.galleries[request] as string) - 1
    gallery[i] = codes[request] as number
    postNo[i] = keys.postNo[row] as number
  }
  return { galleries, gallery, postNo }
}
