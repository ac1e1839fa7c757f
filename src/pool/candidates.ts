/**
 * Which candidates of a cycle are new, and which were sent before: those that are pending, and those that an earlier
 * row of the same cycle names (docs/contract.md, The pending pool).
 */
import type { CycleColumns } from '../contract/index.js'
import { listPostColumns, type Column } from './post-columns.js'
import { PostMap } from './post-map.js'
import { findSlot, type PoolState } from './state.js'
import { PostWarning } from './warnings.js'

export interface CandidatePlan {
  /** Candidates that are not pending, each once. */
  readonly rows: Uint32Array
  /** The first row of each candidate, by gallery code of the request. */
  readonly firstRows: PostMap<number, number>
  readonly differing: PostWarning
}

/** `codes`: gallery codes of the pool for the codes of the request. */
export function planCandidates(pool: PoolState, cycle: CycleColumns, codes: Uint32Array): CandidatePlan {
  const { candidates, galleries } = cycle
  const { count, gallery, postNo } = candidates
  const firstRows = new PostMap<number, number>()
  const differing = new PostWarning('candidate_changed')
  const pending = listPostColumns(pool.posts)
  const sent = listPostColumns(candidates)
  const rows = new Uint32Array(count)
  let entering = 0
  for (let row = 0; row < count; row++) {
    const request = gallery[row]!
    const number = postNo[row]!
    const slot = findSlot(pool, codes[request]!, number, 0)
    const first = firstRows.get(request, number)
    if (first === undefined) firstRows.set(request, number, row)
    if (slot < 0 && first === undefined) rows[entering++] = row
    else if (!(slot < 0 ? sameRow(sent, first ?? -1, sent, row) : sameRow(pending, slot, sent, row)))
      differing.add(galleries[request]!, number)
  }
  return { rows: rows.subarray(0, entering), firstRows, differing }
}

function sameRow(a: readonly Column[], rowA: number, b: readonly Column[], rowB: number): boolean {
  return a.every((column, i) => {
    const [x, y] = [column[rowA]!, b[i]![rowB]!]
    return x === y || (isNaN(x) && isNaN(y))
  })
}
