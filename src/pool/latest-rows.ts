/**
 * The row that counts of several for one post: the latest, the last one on a tie (docs/contract.md, The pending pool).
 */
import { assert, type GalleryIds, type KeyColumns } from '../contract/index.js'
import { PostMap } from './post-map.js'
import { findSlot, type PoolKeys } from './state.js'
import type { PostWarning } from './warnings.js'

export interface LatestRows {
  /** The row that counts, or -1, by slot of the pool. */
  readonly rowOfSlot: Int32Array
  /** Rows that count of posts that are not pending, in the order in which the posts appear. */
  readonly otherRows: readonly number[]
}

/** Rows of a request: their keys and times. */
export interface TimedRows {
  readonly keys: KeyColumns
  readonly atMs: Float64Array
  readonly atFraction: Float64Array
  /** The request's gallery ids, and the pool's codes for them. */
  readonly galleries: GalleryIds
  readonly codes: Uint32Array
}

/** `pool`: the pending posts. Adds superseded rows to `duplicates`. */
export function latestRows(rows: TimedRows, pool: PoolKeys, duplicates: PostWarning): LatestRows {
  const { codes, galleries } = rows
  const { count, gallery, postNo } = rows.keys
  assert(rows.atMs.length === count && rows.atFraction.length === count, 'each row of a request has a time')
  const rowOfSlot = new Int32Array(pool.count).fill(-1)
  const otherRows: number[] = []
  /** Index into `otherRows` by post. */
  const others = new PostMap<number, number>()
  let hint = 0
  for (let row = 0; row < count; row++) {
    const request = gallery[row]!
    const number = postNo[row]!
    const slot = findSlot(pool, codes[request]!, number, hint)
    hint = slot + 1
    const other = slot >= 0 ? -1 : (others.get(request, number) ?? -1)
    const earlier = slot >= 0 ? rowOfSlot[slot]! : (otherRows[other] ?? -1)
    if (earlier >= 0) {
      duplicates.add(galleries[request]!, number)
      if (isBefore(rows, row, earlier)) continue
    }
    if (slot >= 0) rowOfSlot[slot] = row
    else if (other >= 0) otherRows[other] = row
    else others.set(request, number, otherRows.push(row) - 1)
  }
  return { rowOfSlot, otherRows }
}

function isBefore(rows: TimedRows, a: number, b: number): boolean {
  const difference = rows.atMs[a]! - rows.atMs[b]!
  return difference < 0 || (difference === 0 && rows.atFraction[a]! < rows.atFraction[b]!)
}
