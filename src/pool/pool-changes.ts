/**
 * Which posts enter and leave with a cycle: candidates first, then removals; which candidates are new, and which were sent
 * before (docs/contract.md, The pending pool).
 */
import { assert, type CycleColumns, GalleryTable, type KeyColumns, type Warning } from '../contract/index.js'
import { secondRow } from './gather.js'
import { type Column, listPostColumns } from './post-columns.js'
import { gallIdAt, type PostKeys, PostMap } from './post-map.js'
import { findSlot, type PoolState } from './state.js'
import { PostWarning } from './warnings.js'

export interface PoolChanges {
  /** Each slot of the next state: its slot in this one, or `secondRow` of the candidate row that enters (gather.ts). */
  readonly sources: Int32Array
  /** Posts that stay: the first slots of the next state. */
  readonly keptCount: number
  /** Candidate rows that enter and stay, in order. */
  readonly enteredRows: Uint32Array
  /** Removal rows that took effect: of pending posts, and of posts that entered with the same call. */
  readonly departedRows: Uint32Array
  /** Keys of the posts in `departedRows` and in `enteredRows`. */
  readonly departed: PostKeys
  readonly entered: PostKeys
  readonly warnings: readonly Warning[]
}

/** `codes`: gallery codes of the pool for the codes of the request. */
export function planChanges(pool: PoolState, cycle: CycleColumns, codes: Uint32Array): PoolChanges {
  const candidates = planCandidates(pool, cycle, codes)
  const removals = planRemovals(pool, cycle, codes, candidates.firstRows)
  const enteredRows = candidates.rows.filter((row) => removals.candidateDeparted[row] === 0)
  const sources = new Int32Array(pool.count + enteredRows.length)
  let count = 0
  for (let slot = 0; slot < pool.count; slot++) if (removals.slotDeparted[slot] === 0) sources[count++] = slot
  const keptCount = count
  for (const row of enteredRows) sources[count++] = secondRow(row)
  assert(
    keptCount + removals.rows.length + enteredRows.length === pool.count + candidates.rows.length,
    'a post stays, enters or leaves',
  )
  return {
    sources: sources.subarray(0, count),
    keptCount,
    enteredRows,
    departedRows: removals.rows,
    departed: keysOf(cycle, cycle.removals, removals.rows),
    entered: keysOf(cycle, cycle.candidates, enteredRows),
    warnings: [...candidates.differing.list(), ...removals.notPending.list()],
  }
}

interface RemovalPlan {
  /** Removal rows that take effect. */
  readonly rows: Uint32Array
  /** 1 for slots, and for candidate rows, that leave. */
  readonly slotDeparted: Uint8Array
  readonly candidateDeparted: Uint8Array
  readonly notPending: PostWarning
}

/** `candidates`: first rows of the candidates by gallery code of the request. */
function planRemovals(
  pool: PoolState,
  cycle: CycleColumns,
  codes: Uint32Array,
  candidates: PostMap<number, number>,
): RemovalPlan {
  const { count, gallery, postNo } = cycle.removals
  const rows = new Uint32Array(count)
  const slotDeparted = new Uint8Array(pool.count)
  const candidateDeparted = new Uint8Array(cycle.candidates.count)
  const notPending = new PostWarning('removal_not_pending')
  let leaving = 0
  let hint = 0
  for (let row = 0; row < count; row++) {
    const request = gallery[row]!
    const number = postNo[row]!
    const slot = findSlot(pool, codes[request]!, number, hint)
    hint = slot + 1
    const index = slot >= 0 ? slot : (candidates.get(request, number) ?? -1)
    const departed = slot >= 0 ? slotDeparted : candidateDeparted
    if (index < 0 || departed[index] === 1) {
      notPending.add(cycle.galleries[request]!, number)
      continue
    }
    departed[index] = 1
    rows[leaving++] = row
  }
  return { rows: rows.subarray(0, leaving), slotDeparted, candidateDeparted, notPending }
}

/** Keys of `rows`, with the galleries of these rows only. */
function keysOf({ galleries }: CycleColumns, { gallery, postNo }: KeyColumns, rows: Uint32Array): PostKeys {
  const table = new GalleryTable()
  return {
    galleries: table.ids,
    gallery: rows.map((row) => table.code(gallIdAt({ galleries, gallery }, row))),
    postNo: Float64Array.from(rows, (row) => postNo[row]!),
  }
}

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
