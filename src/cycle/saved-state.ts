/**
 * The pool on disk: the records that a cycle stores of it, and the pool rebuilt from them at startup.
 *
 *   entered  columns of the posts that entered with one cycle: key, byte range in the request, what never changes
 *   left     keys of the posts that left with one cycle, with reason, tier and times
 *   pool     of every pending post: where it entered (position, row), its readings and its snapshot
 */
import { packTable, unpackTable, type PackedTable } from '../codec/index.js'
import { GalleryTable, type CycleColumns, type PostColumns } from '../contract/index.js'
import {
  emptyPool,
  listPostColumns,
  Pool,
  postColumnsOf,
  readingNames,
  SlotIndex,
  snapshotColumnNames,
  stateProblem,
  Tombstones,
  tombstoneAgeMsMax,
  type Column,
  type CyclePlan,
  type PoolState,
  type PostKeys,
} from '../pool/index.js'
import { StoreError, type Store } from '../store/index.js'

/** A post's name. `postNo` is a number, so names are unique whatever `gallId` contains. */
export function postName(gallId: string, postNo: number): string {
  return `${gallId}/${postNo}`
}

/** Names of the posts of an `entered` or a `left` record, by row; none if there is no record. */
export function savedNames(packed: Uint8Array | null | undefined): string[] {
  if (packed === null || packed === undefined) return []
  const { header, columns } = unpackTable(packed)
  const { galleries = [] } = header as { galleries?: readonly string[] }
  const [codes, postNo] = columns
  return Array.from(codes ?? [], (code, row) => postName(galleries[code] ?? '', postNo?.[row] ?? 0))
}

/** The posts of a record, by row. */
export interface SavedPosts {
  readonly gallIds: readonly string[]
  readonly postNo: Float64Array
}

/** The posts that entered with a cycle; a row is also a slice of the body. */
export interface SavedEntries extends SavedPosts {
  readonly rowStart: Float64Array
  readonly rowEnd: Float64Array
  readonly posts: PostColumns
}

/** The posts that left with a cycle; `reason` and `tier` are codes. */
export interface SavedDepartures extends SavedPosts {
  readonly reason: Float64Array
  readonly tier: Float64Array
  readonly decidedAtMs: Float64Array
}

/** The posts of an `entered` record; null if there is no record. */
export function savedEntries(packed: Uint8Array | undefined): SavedEntries | null {
  if (packed === undefined) return null
  const { gallIds, columns } = openPosts(packed, 'entered')
  const [postNo, rowStart, rowEnd, ...posts] = columns
  if (postNo === undefined || rowStart === undefined || rowEnd === undefined)
    fail('the entered record has too few columns')
  return { gallIds, postNo, rowStart, rowEnd, posts: postColumnsOf(posts) }
}

/** The posts of a `left` record; null if there is no record. */
export function savedDepartures(packed: Uint8Array | undefined): SavedDepartures | null {
  if (packed === undefined) return null
  const { gallIds, columns } = openPosts(packed, 'left')
  const [postNo, reason, tier, decidedAtMs] = columns
  if (postNo === undefined || reason === undefined || tier === undefined || decidedAtMs === undefined)
    fail('the left record has too few columns')
  return { gallIds, postNo, reason, tier, decidedAtMs }
}

/** Version of the three layouts above. */
const layout = 1

export interface SavedCycle {
  readonly entered: Uint8Array | null
  readonly left: Uint8Array | null
  readonly pool: Uint8Array
}

/** The records of a cycle. */
export function saveCycle(cycle: CycleColumns, plan: CyclePlan): SavedCycle {
  return {
    entered: saveEntered(cycle, plan),
    left: saveLeft(cycle, plan),
    pool: savePool(plan.next),
  }
}

/** The pool as the store's last cycle left it. Throws when records contradict each other. */
export function loadPool(store: Store): Pool {
  const packed = store.readPool()
  if (packed === undefined) return new Pool()
  const saved = open(packed, 'pool')
  const queue = [...saved.columns]
  const next = (): Float64Array => queue.shift() ?? fail('the pool record has too few columns')
  const enteredPosition = next()
  const enteredRow = next()
  const group = <Name extends string>(names: readonly Name[]): Record<Name, Float64Array> =>
    Object.fromEntries(names.map((name) => [name, next()])) as Record<Name, Float64Array>
  const galleries = new GalleryTable()
  const entered = gatherEntered(store, galleries, enteredPosition, enteredRow)
  const state: PoolState = {
    ...emptyPool,
    count: saved.rowCount,
    gallery: entered.gallery,
    postNo: entered.postNo,
    index: new SlotIndex({ galleries: galleries.ids, gallery: entered.gallery, postNo: entered.postNo }),
    enteredPosition,
    enteredRow,
    posts: entered.posts,
    latest: group(readingNames),
    previous: group(readingNames),
    snapshot: group(snapshotColumnNames),
    newestCycleMs: saved.header.newestCycleMs ?? fail('the pool record names no newest cycle'),
    galleries: galleries.ids,
  }
  const problem = stateProblem(state)
  if (problem !== null) fail(`the pool record violates an invariant: ${problem}`)
  return new Pool(state, loadTombstones(store, state))
}

interface Header {
  readonly layout: number
  readonly galleries?: readonly string[]
  readonly newestCycleMs?: number
  readonly leftAtMs?: number
}

type Saved = PackedTable & { readonly header: Header }

function open(packed: Uint8Array, what: string): Saved {
  const table = unpackTable(packed)
  const header = table.header as Header
  if (header.layout !== layout) fail(`the ${what} record has layout ${header.layout}, not ${layout}`)
  return { ...table, header }
}

/** Gallery ids by row, and the columns after that of the galleries. */
function openPosts(
  packed: Uint8Array,
  what: string,
): { readonly gallIds: readonly string[]; readonly columns: readonly Float64Array[] } {
  const { header, columns } = open(packed, what)
  const [gallery = new Float64Array(0), ...others] = columns
  return { gallIds: Array.from(gallery, (code) => header.galleries?.[code] ?? ''), columns: others }
}

function fail(message: string): never {
  throw new StoreError('unusable', message)
}

function savePool(state: PoolState): Uint8Array {
  const columns = [
    state.enteredPosition,
    state.enteredRow,
    ...readingNames.map((name) => state.latest[name]),
    ...readingNames.map((name) => state.previous[name]),
    ...snapshotColumnNames.map((name) => state.snapshot[name]),
  ]
  return packTable({ layout, newestCycleMs: state.newestCycleMs }, state.count, columns)
}

function saveEntered({ candidates }: CycleColumns, { entries }: CyclePlan): Uint8Array | null {
  const rows = entries.enteredRows
  if (rows.length === 0) return null
  const { galleries, gallery } = entries.entered
  const { postNo, rowStart, rowEnd } = candidates
  const columns = selectRows([postNo, rowStart, rowEnd, ...listPostColumns(candidates)], rows)
  return packTable({ layout, galleries }, rows.length, [new Float64Array(gallery), ...columns])
}

function saveLeft({ removals }: CycleColumns, { entries, leftAtMs }: CyclePlan): Uint8Array | null {
  const rows = entries.leftRows
  if (rows.length === 0) return null
  const { galleries, gallery } = entries.left
  const { postNo, reason, tier, decidedAtMs } = removals
  const columns = selectRows([postNo, reason, tier, decidedAtMs], rows)
  return packTable({ layout, galleries, leftAtMs }, rows.length, [new Float64Array(gallery), ...columns])
}

/** The values of `rows`, in each column. */
function selectRows(columns: readonly Column[], rows: Uint32Array): Float64Array[] {
  return columns.map((column) => {
    // A loop: `Float64Array.from` allocates an object for each value.
    const selected = new Float64Array(rows.length)
    for (let i = 0; i < rows.length; i++) selected[i] = column[rows[i] as number] as number
    return selected
  })
}

/** Columns of the pending posts, each taken from the record of the cycle with which it entered. */
function gatherEntered(
  store: Store,
  galleries: GalleryTable,
  positions: Float64Array,
  rows: Float64Array,
): Pick<PoolState, 'gallery' | 'postNo' | 'posts'> {
  const count = positions.length
  const gallery = new Uint32Array(count)
  const postNo = new Float64Array(count)
  const postColumns: Column[] = listPostColumns(emptyPool.posts).map(() => new Float64Array(count))
  const recordAt = lastUsed((position: number) => {
    const packed = store.readEntered(position) ?? fail(`cycle ${position} keeps no entered posts`)
    const saved = open(packed, 'entered')
    return { columns: saved.columns, codes: (saved.header.galleries ?? []).map((id) => galleries.code(id)) }
  })
  for (let slot = 0; slot < count; slot++) {
    const position = positions[slot] as number
    const row = rows[slot] as number
    const { columns, codes } = recordAt(position)
    const [galleryColumn, postNoColumn, , , ...posts] = columns
    gallery[slot] = codes[galleryColumn?.[row] ?? -1] ?? fail(`cycle ${position} has no post in row ${row}`)
    postNo[slot] = postNoColumn?.[row] as number
    postColumns.forEach((column, i) => (column[slot] = posts[i]?.[row] as number))
  }
  return { gallery, postNo, posts: postColumnsOf(postColumns) }
}

/** Posts are in order of entry, so one record serves many slots in a row. */
function lastUsed<Value>(read: (key: number) => Value): (key: number) => Value {
  let last: { key: number; value: Value } | undefined
  return (key) => {
    if (last?.key !== key) last = { key, value: read(key) }
    return last.value
  }
}

/**
 * Tombstones of the departures in the last seven days. Reads departures from the newest back: their times never fall, so
 * the first one that is too old ends the search, however long the history is.
 */
function loadTombstones(store: Store, state: PoolState): Tombstones {
  const departures: { posts: PostKeys; leftAtMs: number }[] = []
  // Departures of expired cycles are older than any tombstone.
  const first = store.expiry.firstPosition()
  for (let position = store.lastCycle()?.position ?? 0; position >= first; position--) {
    const packed = store.readLeft(position)
    if (packed === undefined) continue
    const { columns, header } = open(packed, 'left')
    const leftAtMs = header.leftAtMs ?? fail(`the departures of cycle ${position} have no time`)
    if (leftAtMs < state.newestCycleMs - tombstoneAgeMsMax) break
    const [gallery = new Float64Array(0), postNo = new Float64Array(0)] = columns
    const posts = { galleries: header.galleries ?? [], gallery: Uint32Array.from(gallery), postNo }
    departures.push({ posts, leftAtMs })
  }
  const tombstones = new Tombstones()
  for (const { posts, leftAtMs } of departures.reverse()) tombstones.add(posts, leftAtMs)
  tombstones.delete(state)
  return tombstones
}
