/**
 * Of several rows for one post, the one that counts: the latest, the last one on a tie (decisions.md 15).
 */
import type { KeyColumns } from '../contract/index.js'
import { KeyIndex } from './key-index.js'
import type { PostWarning } from './warnings.js'

export interface LatestRows {
  /** By slot of the pool: the row that counts, or -1. */
  readonly rowOfSlot: Int32Array
  /** Rows that count of posts that are not pending, in the order in which the posts appear. */
  readonly otherRows: readonly number[]
}

export interface TimedKeys extends KeyColumns {
  readonly atMs: Float64Array
  readonly atFraction: Float64Array
  /** Gallery codes of the pool for the request's codes. */
  readonly codes: Uint32Array
  readonly galleries: readonly string[]
}

/** `slots`: index of the pool's keys, for `slotCount` slots. Superseded rows are added to `duplicates`. */
export function latestRows(
  rows: TimedKeys,
  slots: KeyIndex,
  slotCount: number,
  duplicates: PostWarning,
): LatestRows {
  const rowOfSlot = new Int32Array(slotCount).fill(-1)
  const others = new KeyIndex(8)
  const otherRows: number[] = []
  for (let row = 0; row < rows.count; row++) {
    const request = rows.gallery[row] as number
    const gallery = rows.codes[request] as number
    const postNo = rows.postNo[row] as number
    const slot = slots.find(gallery, postNo)
    const other = slot < 0 ? others.find(gallery, postNo) : -1
    const standing = slot >= 0 ? (rowOfSlot[slot] as number) : other < 0 ? -1 : (otherRows[other] as number)
    if (standing >= 0) {
      duplicates.add(rows.galleries[request] as string, postNo)
      if (isEarlier(rows, row, standing)) continue
    }
    if (slot >= 0) rowOfSlot[slot] = row
    else if (other >= 0) otherRows[other] = row
    else {
      others.set(gallery, postNo, otherRows.length)
      otherRows.push(row)
    }
  }
  return { rowOfSlot, otherRows }
}

function isEarlier(rows: TimedKeys, a: number, b: number): boolean {
  const difference = (rows.atMs[a] as number) - (rows.atMs[b] as number)
  return (
    difference < 0 || (difference === 0 && (rows.atFraction[a] as number) < (rows.atFraction[b] as number))
  )
}
