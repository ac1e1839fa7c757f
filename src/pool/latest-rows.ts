/**
 * Of several rows for one post, the one that counts: the latest, the last one on a tie (decisions.md 15).
 */
import type { KeyColumns } from '../contract/index.js'
import type { ColumnMemory } from './column-memory.js'
import { KeyIndex, type HashFactors } from './key-index.js'
import type { PoolKeys } from './state.js'
import type { PostWarning } from './warnings.js'

export interface LatestRows {
  /** By slot of the pool: the row that counts, or -1. */
  readonly rowOfSlot: Int32Array
  /** Rows that count of posts that are not pending, in the order in which the posts appear. */
  readonly otherRows: readonly number[]
}

/** Rows of a request: their keys and times. */
export interface TimedRows {
  readonly keys: KeyColumns
  readonly atMs: Float64Array
  readonly atFraction: Float64Array
  /** The request's gallery ids, and the codes that the pool has for them. */
  readonly galleries: readonly string[]
  readonly codes: Uint32Array
}

/** `pool`: the posts that are pending. Superseded rows are added to `duplicates`. */
export function latestRows(
  rows: TimedRows,
  pool: PoolKeys,
  duplicates: PostWarning,
  memory: ColumnMemory,
): LatestRows {
  const { codes, galleries } = rows
  const { count, gallery, postNo } = rows.keys
  const rowOfSlot = memory.int32(pool.count).fill(-1)
  const others = new OtherRows(rows.keys, pool.factors, memory)
  let next = 0
  for (let row = 0; row < count; row++) {
    // Rows mostly come in the order of the slots: no key needs to be looked up then.
    const followed = followSlots(rows.keys, codes, row, pool, next, rowOfSlot)
    row += followed
    if (row === count) break
    const request = gallery[row] as number
    const slot = pool.index.find(codes[request] as number, postNo[row] as number)
    next = slot + 1
    const standing = slot >= 0 ? (rowOfSlot[slot] as number) : others.standing(row)
    if (standing >= 0) {
      duplicates.add(galleries[request] as string, postNo[row] as number)
      if (isEarlier(rows, row, standing)) continue
    }
    if (slot >= 0) rowOfSlot[slot] = row
    else others.stand(row)
  }
  return { rowOfSlot, otherRows: others.rows }
}

/** How many slots from `slot` on have no row, nor anything kept: NaN in the column of its times, from `kept` on. */
export function unknownCount(
  rowOfSlot: Int32Array,
  slot: number,
  end: number,
  keptAtMs: Float64Array,
  kept: number,
): number {
  let at = slot
  while (at < end && rowOfSlot[at] === -1 && isNaN(keptAtMs[kept + at - slot] as number)) at++
  return at - slot
}

/** Gives each slot from `slot` on its row, as long as the rows from `row` on are of the slots in their order. */
function followSlots(
  { count, gallery, postNo }: KeyColumns,
  codes: Uint32Array,
  row: number,
  pool: PoolKeys,
  slot: number,
  rowOfSlot: Int32Array,
): number {
  const followedMax = Math.min(count - row, pool.count - slot)
  const [slotGallery, slotPostNo] = [pool.gallery, pool.postNo]
  let followed = 0
  for (; followed < followedMax; followed++) {
    const at = slot + followed
    if (postNo[row + followed] !== slotPostNo[at] || rowOfSlot[at] !== -1) break
    if (codes[gallery[row + followed] as number] !== slotGallery[at]) break
    rowOfSlot[at] = row + followed
  }
  return followed
}

/**
 * How many slots from `slot` on have rows that follow each other, each later than what is kept: times by row, and times
 * by place from `kept` on. Whole milliseconds only, and nothing is lost by an answer that is too small.
 */
export function laterCount(
  rowOfSlot: Int32Array,
  slot: number,
  end: number,
  atMs: Float64Array,
  keptAtMs: Float64Array,
  kept: number,
): number {
  const row = rowOfSlot[slot] as number
  if (row < 0) return 0
  let at = slot
  // Written so that anything is later than NaN, which is what is kept of a post that has nothing yet.
  for (; at < end; at++) {
    const offset = at - slot
    if (rowOfSlot[at] !== row + offset) break
    if ((atMs[row + offset] as number) <= (keptAtMs[kept + offset] as number)) break
  }
  return at - slot
}

/** Rows that count of posts that are not pending. Mostly there are none, and nothing is allocated. */
class OtherRows {
  readonly rows: number[] = []
  readonly #keys: KeyColumns
  readonly #factors: HashFactors
  readonly #memory: ColumnMemory
  /** First row of each post; and by first row, the post's place in `rows`. */
  #firstRows: KeyIndex | null = null
  #places: Uint32Array | null = null

  constructor(keys: KeyColumns, factors: HashFactors, memory: ColumnMemory) {
    this.#keys = keys
    this.#factors = factors
    this.#memory = memory
  }

  /** The row that counts so far for the post of `row`, or -1. */
  standing(row: number): number {
    const first = this.#first(row)
    return first < 0 ? -1 : (this.rows[this.#places?.[first] as number] as number)
  }

  /** From now on, `row` counts for its post. */
  stand(row: number): void {
    const { count, gallery, postNo } = this.#keys
    this.#firstRows ??= new KeyIndex(gallery, postNo, count, this.#factors, this.#memory)
    this.#places ??= this.#memory.uint32(count)
    const first = this.#first(row)
    if (first < 0) {
      this.#firstRows.add(row)
      this.#places[row] = this.rows.push(row) - 1
    } else this.rows[this.#places[first] as number] = row
  }

  #first(row: number): number {
    const { gallery, postNo } = this.#keys
    return this.#firstRows?.find(gallery[row] as number, postNo[row] as number) ?? -1
  }
}

function isEarlier(rows: TimedRows, a: number, b: number): boolean {
  const difference = (rows.atMs[a] as number) - (rows.atMs[b] as number)
  return (
    difference < 0 || (difference === 0 && (rows.atFraction[a] as number) < (rows.atFraction[b] as number))
  )
}
