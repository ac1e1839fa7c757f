/**
 * The state of the pending pool: who waits, in order of entry, with what is known of each. States are never changed
 * once made; a cycle makes the next one.
 */
import {
  textMeasureNames,
  type PostColumns,
  type ReadingColumns,
  type SnapshotColumns,
} from '../contract/index.js'
import { listPostColumns, noReadings, noSnapshots, postColumnsOf } from './columns.js'
import type { ColumnMemory } from './column-memory.js'
import { KeyIndex } from './key-index.js'

export interface PoolState {
  /** Pending posts. A post's row is its slot. */
  readonly count: number
  /** Gallery ids of the pending posts by code. Codes belong to one state. */
  readonly galleries: readonly string[]
  readonly gallery: Uint32Array
  readonly postNo: Float64Array
  readonly index: KeyIndex
  /** Store position of the cycle with which the post entered, and its row among the candidates entered then. */
  readonly enteredPosition: Float64Array
  readonly enteredRow: Float64Array
  readonly posts: PostColumns
  /** The last two `ok` readings, for rates. */
  readonly latest: ReadingColumns
  readonly previous: ReadingColumns
  /** The latest admin snapshot. */
  readonly snapshot: SnapshotColumns
  /** Latest `cycle_time` of all cycles so far; -Infinity before the first. */
  readonly newestCycleMs: number
}

const postColumnCount = 12 + 2 * textMeasureNames.length

export const emptyPool: PoolState = {
  count: 0,
  galleries: [],
  gallery: new Uint32Array(0),
  postNo: new Float64Array(0),
  index: new KeyIndex(0),
  enteredPosition: new Float64Array(0),
  enteredRow: new Float64Array(0),
  posts: postColumnsOf(Array.from({ length: postColumnCount }, () => new Float64Array(0))),
  latest: noReadings(0),
  previous: noReadings(0),
  snapshot: noSnapshots(0),
  newestCycleMs: -Infinity,
}

if (listPostColumns(emptyPool.posts).length !== postColumnCount)
  throw new Error('columns of posts are miscounted')

/** An index over the keys of a pool. */
export function indexKeys(gallery: Uint32Array, postNo: Float64Array, memory?: ColumnMemory): KeyIndex {
  const index = new KeyIndex(gallery.length, memory)
  for (let slot = 0; slot < gallery.length; slot++)
    index.set(gallery[slot] as number, postNo[slot] as number, slot)
  return index
}
