/**
 * The state of the pending pool: which posts are pending, in order of entry, and what is known of each. States are
 * immutable; each cycle creates the next one, with the keys that `nextKeys` gives it.
 */
import {
  assert,
  type CycleColumns,
  type GalleryIds,
  type PostColumns,
  type ReadingColumns,
  type SnapshotColumns,
} from '../contract/index.js'
import { gatherFloat64, secondRow, type Sources } from './gather.js'
import { listPostColumns, noPosts, noReadings, noSnapshots } from './post-columns.js'
import type { PostKeys } from './post-map.js'

/** Which posts are pending: one row each, which is the post's slot. */
export interface PoolKeys {
  readonly count: number
  /** Index into the state's `galleries`. */
  readonly gallery: Uint32Array
  readonly postNo: Float64Array
  readonly index: SlotIndex
}

export interface PoolState extends PoolKeys {
  /** Store position of the last cycle; 0 before the first. */
  readonly position: number
  /** Gallery ids of the pending posts by code. Codes are valid within one state only. */
  readonly galleries: GalleryIds
  /** Store position of the cycle with which the post entered, and its row among the candidates that entered then. */
  readonly enteredPosition: Float64Array
  readonly enteredRow: Float64Array
  readonly posts: PostColumns
  /** The last two `ok` readings, for rates; `observedAtMs` is NaN if there is none. */
  readonly latest: ReadingColumns
  readonly previous: ReadingColumns
  /** The latest admin snapshot; `snapshotAtMs` is NaN if there is none. */
  readonly snapshot: SnapshotColumns
  /** Latest `cycle_time` of all cycles so far; -Infinity before the first. */
  readonly newestCycleMs: number
}

/**
 * The slots of a state by post: an open-addressing hash table, built at the first look-up. A cycle may not need it (see
 * `findSlot`). A `Map` takes eight times as long to build: 0.35 ms for 5,000 posts. The codes of the galleries are in a
 * `Map`, which is built at the first look-up by `gall_id`.
 */
export class SlotIndex {
  readonly #galleries: GalleryIds
  readonly #gallery: Uint32Array
  readonly #postNo: Float64Array
  #codes: ReadonlyMap<string, number> | null = null
  /** Each bucket holds a slot + 1, or 0 if empty. The number of buckets is a power of two; at most half are used. */
  #buckets: Uint32Array | null = null

  constructor({ galleries, gallery, postNo }: PostKeys) {
    this.#galleries = galleries
    this.#gallery = gallery
    this.#postNo = postNo
  }

  /** The code of a gallery; undefined if no post is in it. */
  codeOf(gallId: string): number | undefined {
    this.#codes ??= new Map(this.#galleries.map((id, code) => [id, code]))
    return this.#codes.get(gallId)
  }

  /** The slot of a post by its `gall_id`, or -1. */
  findPost(gallId: string, postNo: number): number {
    const code = this.codeOf(gallId)
    return code === undefined ? -1 : this.find(code, postNo)
  }

  /** The slot of a post, or -1. */
  find(gallery: number, postNo: number): number {
    this.#buckets ??= this.#build()
    return this.#buckets[this.#bucketOf(this.#buckets, gallery, postNo)]! - 1
  }

  #build(): Uint32Array {
    const count = this.#postNo.length
    assert(this.#gallery.length === count, 'each post has a gallery and a number')
    const buckets = new Uint32Array(2 ** Math.ceil(Math.log2(2 * count + 2)))
    for (let slot = 0; slot < count; slot++)
      buckets[this.#bucketOf(buckets, this.#gallery[slot]!, this.#postNo[slot]!)] = slot + 1
    return buckets
  }

  /** The bucket of a post, or the empty one where its look-up ends. */
  #bucketOf(buckets: Uint32Array, gallery: number, postNo: number): number {
    const mask = buckets.length - 1
    for (let bucket = hashOf(gallery, postNo) >>> Math.clz32(mask); ; bucket = (bucket + 1) & mask) {
      const slot = buckets[bucket]! - 1
      if (slot < 0 || (this.#postNo[slot] === postNo && this.#gallery[slot] === gallery)) return bucket
    }
  }
}

const [factor, highFactor, galleryFactor] = Array.from({ length: 3 }, () => randomOdd()) as [
  number,
  number,
  number,
]

function randomOdd(): number {
  return Math.floor(Math.random() * 2 ** 32) | 1
}

/** 32 bits, the highest of which are well mixed. The factors are random: a client cannot send posts that all collide. */
function hashOf(gallery: number, postNo: number): number {
  const high = Math.floor(postNo / 2 ** 32)
  return Math.imul(postNo, factor) + Math.imul(high, highFactor) + Math.imul(gallery, galleryFactor)
}

const noGallery = new Uint32Array(0)
const noPostNo = new Float64Array(0)

export const emptyPool: PoolState = {
  position: 0,
  count: 0,
  galleries: [],
  gallery: noGallery,
  postNo: noPostNo,
  index: new SlotIndex({ galleries: [], gallery: noGallery, postNo: noPostNo }),
  enteredPosition: new Float64Array(0),
  enteredRow: new Float64Array(0),
  posts: noPosts,
  latest: noReadings,
  previous: noReadings,
  snapshot: noSnapshots,
  newestCycleMs: -Infinity,
}

/** The slot of a post, or -1. `hint`, the slot after that of the previous row, is tried first: rows are mostly in order. */
export function findSlot(keys: PoolKeys, gallery: number, postNo: number, hint: number): number {
  if (hint < keys.count && keys.postNo[hint] === postNo && keys.gallery[hint] === gallery) return hint
  return keys.index.find(gallery, postNo)
}

/** The invariant that a state violates, or null. */
export function stateProblem(state: PoolState): string | null {
  const { position, count, gallery, galleries, enteredPosition, enteredRow } = state
  const columns = [
    ...[gallery, state.postNo, enteredPosition, enteredRow],
    ...listPostColumns(state.posts),
    ...[state.latest, state.previous, state.snapshot].flatMap(
      (group) => Object.values(group) as Float64Array[],
    ),
  ]
  if (columns.some((column) => column.length !== count))
    return 'every column of a pool has a row for each post'
  if (position > 0 && !Number.isFinite(state.newestCycleMs))
    return 'a pool knows the time of its newest cycle'
  if (count > 0 && enteredPosition[count - 1]! > position)
    return 'no post of a pool entered after its last cycle'
  for (let slot = 0; slot < count; slot++) {
    if (gallery[slot]! >= galleries.length) return 'every post of a pool has a gallery'
    if (slot === 0) continue
    const rise =
      enteredPosition[slot]! - enteredPosition[slot - 1]! || enteredRow[slot]! - enteredRow[slot - 1]!
    if (!(rise > 0)) return 'the posts of a pool are in order of entry'
  }
  return null
}

export interface NextKeys extends PoolKeys {
  readonly galleries: GalleryIds
  /** What `codesIn` returns for the galleries above. */
  readonly codes: Uint32Array
}

/** Gallery codes of a state for the codes of the request. Galleries that the state lacks get codes past its own. */
export function codesIn({ galleries, index }: PoolState, requested: GalleryIds): Uint32Array {
  return Uint32Array.from(requested, (id, request) => index.codeOf(id) ?? galleries.length + request)
}

/**
 * `sources`: by slot of the next state, its slot or candidate row. `codesBefore`: codes of `pool` for the codes of the
 * request. Galleries of posts that stay or enter get new codes in order of appearance; others are dropped.
 */
export function nextKeys(
  pool: PoolState,
  { candidates, galleries: requested }: CycleColumns,
  sources: Sources,
  codesBefore: Uint32Array,
): NextKeys {
  assert(codesBefore.length === requested.length, 'each gallery of a request has a code')
  const galleries: string[] = []
  /** New codes by codes of `codesBefore`; -1 if there is none yet. */
  const newCodes = new Int32Array(pool.galleries.length + requested.length).fill(-1)
  const { rows } = sources
  const gallery = new Uint32Array(rows.length)
  for (let slot = 0; slot < rows.length; slot++) {
    const source = rows[slot]!
    const before = (source >= 0 ? pool.gallery[source] : codesBefore[candidates.gallery[secondRow(source)]!])!
    if (newCodes[before] === -1) {
      const id = pool.galleries[before] ?? requested[before - pool.galleries.length]
      newCodes[before] = galleries.push(id!) - 1
    }
    gallery[slot] = newCodes[before]!
  }
  const codes = codesBefore.map((before, request) => {
    const code = newCodes[before]!
    return code >= 0 ? code : galleries.length + request
  })
  const postNo = gatherFloat64(sources, pool.postNo, candidates.postNo)
  const index = new SlotIndex({ galleries, gallery, postNo })
  return { count: rows.length, galleries, gallery, postNo, index, codes }
}
