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
import { hashFactors, SlotIndex, type HashFactors } from './key-index.js'

/** Which posts are pending: one row each, which is the post's slot. */
export interface PoolKeys {
  readonly count: number
  readonly gallery: Uint32Array
  readonly postNo: Float64Array
  readonly index: SlotIndex
  /** Of all indexes of keys. Where they come from a seed that no client knows, none can make up keys that are slow. */
  readonly factors: HashFactors
}

export interface PoolState extends PoolKeys {
  /** Gallery ids of the pending posts by code. Codes belong to one state. */
  readonly galleries: readonly string[]
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

const noGallery = new Uint32Array(0)
const noPostNo = new Float64Array(0)
const noSeed = hashFactors(0)

export const emptyPool: PoolState = {
  count: 0,
  galleries: [],
  gallery: noGallery,
  postNo: noPostNo,
  index: new SlotIndex(noGallery, noPostNo, noSeed),
  factors: noSeed,
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

/**
 * The slot of a key, or -1. Rows mostly come in the order of the slots: `guess`, the slot after that of the row before,
 * is looked at first.
 */
export function findSlot(keys: PoolKeys, gallery: number, postNo: number, guess: number): number {
  if (guess < keys.count && keys.postNo[guess] === postNo && keys.gallery[guess] === gallery) return guess
  return keys.index.find(gallery, postNo)
}
