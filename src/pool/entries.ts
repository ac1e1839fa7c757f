/**
 * Who enters and who leaves with a cycle: candidates first, then removals (decisions.md 13 and 14).
 */
import type { CycleColumns } from '../contract/index.js'
import { listPostColumns } from './columns.js'
import { KeyIndex } from './key-index.js'
import type { PoolState } from './state.js'
import type { KeyList } from './tombstones.js'
import { PostWarning } from './warnings.js'

export interface Entries {
  /** Candidate rows that enter and stay, in order. */
  readonly enteredRows: Uint32Array
  /** Slots of the pool that stay, in order. */
  readonly keptSlots: Uint32Array
  /** Removal rows that took effect: of pending posts, and of posts that entered with this very call. */
  readonly leftRows: Uint32Array
  /** Keys of the posts that left; and of all that entered, to take their tombstones away. */
  readonly left: KeyList
  readonly entered: KeyList
  readonly warnings: readonly string[]
}

/** `codes`: gallery codes of the pool for the codes of the request. */
export function planEntries(pool: PoolState, cycle: CycleColumns, codes: Uint32Array): Entries {
  const candidates = planCandidates(pool, cycle, codes)
  const removals = planRemovals(pool, cycle, codes, candidates.index)
  const keptSlots = new Uint32Array(pool.count - removals.slotCount)
  let kept = 0
  for (let slot = 0; slot < pool.count; slot++) if (removals.slotLeft[slot] === 0) keptSlots[kept++] = slot
  const entered = candidates.rows.filter((row) => removals.candidateLeft[row] === 0)
  return {
    enteredRows: Uint32Array.from(entered),
    keptSlots,
    leftRows: Uint32Array.from(removals.rows),
    left: keysOf(cycle, cycle.removals, removals.rows),
    entered: keysOf(cycle, cycle.candidates, entered),
    warnings: [...candidates.differing.lines(), ...removals.notPending.lines()],
  }
}

interface CandidatePlan {
  readonly rows: number[]
  /** Keys of the rows above, each with its candidate row. */
  readonly index: KeyIndex
  readonly differing: PostWarning
}

function planCandidates(pool: PoolState, cycle: CycleColumns, codes: Uint32Array): CandidatePlan {
  const { candidates } = cycle
  const rows: number[] = []
  const index = new KeyIndex(candidates.count)
  const differing = new PostWarning('candidate sent again with another record, the first one stays')
  const pending = listPostColumns(pool.posts)
  const sent = listPostColumns(candidates)
  for (let row = 0; row < candidates.count; row++) {
    const gallery = codes[candidates.gallery[row] as number] as number
    const postNo = candidates.postNo[row] as number
    const slot = pool.index.find(gallery, postNo)
    const first = slot < 0 ? index.find(gallery, postNo) : -1
    if (slot < 0 && first < 0) {
      rows.push(row)
      index.set(gallery, postNo, row)
    } else if (slot >= 0 ? !sameRow(pending, slot, sent, row) : !sameRow(sent, first, sent, row)) {
      differing.add(galleryOf(cycle, candidates, row), postNo)
    }
  }
  return { rows, index, differing }
}

function sameRow(
  a: ReturnType<typeof listPostColumns>,
  rowA: number,
  b: ReturnType<typeof listPostColumns>,
  rowB: number,
): boolean {
  return a.every((column, i) => {
    const [x, y] = [column[rowA] as number, b[i]?.[rowB] as number]
    return x === y || (x !== x && y !== y)
  })
}

interface RemovalPlan {
  /** Removal rows that take effect. */
  readonly rows: number[]
  readonly slotLeft: Uint8Array
  readonly slotCount: number
  readonly candidateLeft: Uint8Array
  readonly notPending: PostWarning
}

function planRemovals(
  pool: PoolState,
  cycle: CycleColumns,
  codes: Uint32Array,
  entering: KeyIndex,
): RemovalPlan {
  const { removals } = cycle
  const rows: number[] = []
  const slotLeft = new Uint8Array(pool.count)
  const candidateLeft = new Uint8Array(cycle.candidates.count)
  const notPending = new PostWarning('removal of a post that is not pending')
  let slotCount = 0
  for (let row = 0; row < removals.count; row++) {
    const gallery = codes[removals.gallery[row] as number] as number
    const postNo = removals.postNo[row] as number
    const slot = pool.index.find(gallery, postNo)
    const candidate = slot < 0 ? entering.find(gallery, postNo) : -1
    const left = slot >= 0 ? slotLeft : candidateLeft
    const at = slot >= 0 ? slot : candidate
    if (at < 0 || left[at] === 1) {
      notPending.add(galleryOf(cycle, removals, row), postNo)
      continue
    }
    left[at] = 1
    if (slot >= 0) slotCount++
    rows.push(row)
  }
  return { rows, slotLeft, slotCount, candidateLeft, notPending }
}

function galleryOf(cycle: CycleColumns, keys: { readonly gallery: Uint32Array }, row: number): string {
  return cycle.galleries[keys.gallery[row] as number] as string
}

function keysOf(
  cycle: CycleColumns,
  keys: { readonly gallery: Uint32Array; readonly postNo: Float64Array },
  rows: readonly number[],
): KeyList {
  return {
    gallIds: rows.map((row) => galleryOf(cycle, keys, row)),
    postNo: rows.map((row) => keys.postNo[row] as number),
  }
}
