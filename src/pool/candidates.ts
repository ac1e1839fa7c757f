/**
 * Which candidates of a cycle are new, and which are sent again: those that are pending, and those that stand in the
 * same cycle before (decisions.md 13).
 */
import type { CycleColumns, KeyColumns } from '../contract/index.js'
import type { ColumnMemory } from './column-memory.js'
import { listPostColumns, type Column } from './columns.js'
import { KeyIndex } from './key-index.js'
import type { PoolState } from './state.js'
import { PostWarning } from './warnings.js'

export interface CandidatePlan {
  /** Candidates that are not pending, each once. */
  readonly rows: Uint32Array
  /** The first row of each candidate, with the gallery codes of the request. */
  readonly index: KeyIndex
  readonly differing: PostWarning
}

/** `codes`: gallery codes of the pool for the codes of the request. */
export function planCandidates(
  pool: PoolState,
  cycle: CycleColumns,
  codes: Uint32Array,
  memory: ColumnMemory,
): CandidatePlan {
  const { candidates } = cycle
  const { count, gallery, postNo } = candidates
  const index = new KeyIndex(gallery, postNo, count, pool.factors, memory)
  const firstRows = memory.uint32(count)
  for (let row = 0; row < count; row++) {
    const known = index.find(gallery[row] as number, postNo[row] as number)
    if (known < 0) index.add(row)
    firstRows[row] = known < 0 ? row : known
  }
  const slots = findPending(pool, candidates, codes, index, memory)
  const rows = memory.uint32(count)
  const again: number[] = []
  let entering = 0
  for (let row = 0; row < count; row++) {
    const first = firstRows[row] as number
    if (first === row && slots[row] === -1) rows[entering++] = row
    else again.push(row)
  }
  const differing = againWithOthers(pool, cycle, again, firstRows, slots)
  return { rows: rows.subarray(0, entering), index, differing }
}

/** Which of the rows `again` are not what stands: in the pool, or in the first row of the post. */
function againWithOthers(
  pool: PoolState,
  { candidates, galleries }: CycleColumns,
  again: readonly number[],
  firstRows: Uint32Array,
  slots: Int32Array,
): PostWarning {
  const differing = new PostWarning('candidate sent again with another record, the first one stays')
  if (again.length === 0) return differing
  const pending = listPostColumns(pool.posts)
  const sent = listPostColumns(candidates)
  for (const row of again) {
    const first = firstRows[row] as number
    const slot = slots[first] as number
    const same = slot >= 0 ? sameRow(pending, slot, sent, row) : sameRow(sent, first, sent, row)
    const gallId = galleries[candidates.gallery[row] as number] as string
    if (!same) differing.add(gallId, candidates.postNo[row] as number)
  }
  return differing
}

/**
 * The slot of each candidate in `index`, by row, or -1. Goes through the pool and not through the candidates: the pool
 * needs no index then. A gallery counts its posts up, so that hardly any candidate has a number below one that is
 * pending: the lowest of a gallery tells most pending posts from all of its candidates.
 */
function findPending(
  pool: PoolState,
  candidates: KeyColumns,
  codes: Uint32Array,
  index: KeyIndex,
  memory: ColumnMemory,
): Int32Array {
  const slots = memory.int32(candidates.count).fill(-1)
  if (candidates.count === 0) return slots
  const lowest = lowestPostNos(pool.galleries.length, candidates, codes)
  const requested = new Map<number, number>()
  codes.forEach((code, request) => requested.set(code, request))
  const { count, gallery, postNo } = pool
  for (let slot = 0; slot < count; slot++) {
    const code = gallery[slot] as number
    if ((postNo[slot] as number) < (lowest[code] as number)) continue
    const row = index.find(requested.get(code) as number, postNo[slot] as number)
    if (row >= 0) slots[row] = slot
  }
  return slots
}

/** The lowest number of a candidate by gallery code of the pool; Infinity where there is none. */
function lowestPostNos(galleryCount: number, candidates: KeyColumns, codes: Uint32Array): Float64Array {
  const { count, gallery, postNo } = candidates
  const lowest = new Float64Array(galleryCount).fill(Infinity)
  for (let row = 0; row < count; row++) {
    const code = codes[gallery[row] as number] as number
    if (code < galleryCount && (postNo[row] as number) < (lowest[code] as number))
      lowest[code] = postNo[row] as number
  }
  return lowest
}

function sameRow(a: readonly Column[], rowA: number, b: readonly Column[], rowB: number): boolean {
  return a.every((column, i) => {
    const [x, y] = [column[rowA] as number, b[i]?.[rowB] as number]
    return x === y || (x !== x && y !== y)
  })
}
