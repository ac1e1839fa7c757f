/**
 * A snapshot of the pool: all columns of its state after one cycle. Posts that have left are not in it: the records of
 * their cycles name them.
 *
 *   header    layout, position of the cycle, newest cycle_time, gallery ids
 *   columns   gallery, post_no, where the post entered, what never changes of it, both readings, admin snapshot
 */
import { packTable, unpackTable } from '../../codec/index.js'
import { assert, GalleryTable, type GalleryIds } from '../../contract/index.js'
import {
  listPostColumns,
  Pool,
  postColumnCount,
  postColumnsOf,
  readingNames,
  SlotIndex,
  snapshotColumnNames,
  stateProblem,
  Tombstones,
  type Departure,
  type PoolState,
  type PostKeys,
} from '../../pool/index.js'
import { readCycleHeader, readCycleTable, tookEffect, type CycleRows } from '../../records/index.js'
import { StoreError, type Position, type Store } from '../../store/index.js'

const layout = 1

interface Header {
  readonly layout: number
  readonly position: Position
  readonly newestCycleMs: number
  readonly galleries: GalleryIds
}

export function packPool(state: PoolState): Uint8Array {
  const { position, newestCycleMs, galleries } = state
  assert(position > 0, 'a snapshot has a cycle')
  const columns = [
    state.gallery,
    state.postNo,
    state.enteredPosition,
    state.enteredRow,
    ...listPostColumns(state.posts),
    ...readingNames.map((name) => state.latest[name]),
    ...readingNames.map((name) => state.previous[name]),
    ...snapshotColumnNames.map((name) => state.snapshot[name]),
  ]
  const header: Header = { layout, position, newestCycleMs, galleries }
  const doubles = columns.map((column) =>
    column instanceof Float64Array ? column : Float64Array.from(column),
  )
  return packTable(header, state.count, doubles)
}

/** The pool as it was after the cycle at `position`. Throws a StoreError `unusable` for a snapshot that is not usable. */
export function readPool(store: Store, position: Position): Pool {
  const packed = store.readPoolSnapshot(position) ?? fail('it is missing')
  const { header, rowCount, columns } = unpackTable(packed)
  const { layout: found, newestCycleMs, galleries, ...rest } = header as Header
  if (found !== layout) fail(`it has layout ${found}, not ${layout}`)
  // Keys of records have no checksum.
  if (rest.position !== position) fail(`it is that of position ${rest.position}`)
  const queue = [...columns]
  const next = (): Float64Array => queue.shift() ?? fail('it has too few columns')
  const group = <Name extends string>(names: readonly Name[]): Record<Name, Float64Array> =>
    Object.fromEntries(names.map((name) => [name, next()])) as Record<Name, Float64Array>
  const gallery = Uint32Array.from(next())
  const postNo = next()
  const state: PoolState = {
    position,
    count: rowCount,
    galleries,
    gallery,
    postNo,
    index: new SlotIndex({ galleries, gallery, postNo }),
    enteredPosition: next(),
    enteredRow: next(),
    posts: postColumnsOf(Array.from({ length: postColumnCount }, next)),
    latest: group(readingNames),
    previous: group(readingNames),
    snapshot: group(snapshotColumnNames),
    newestCycleMs,
  }
  const problem = stateProblem(state)
  if (problem !== null) fail(problem)
  const tombstones = Tombstones.at(newestCycleMs, departuresBefore(store, position))
  tombstones.delete(state)
  return new Pool(state, tombstones)
}

function fail(problem: string): never {
  throw new StoreError('unusable', `a snapshot of the pool cannot be used: ${problem}`)
}

/** Departures from the newest back: the tombstones need few of them, however long the history is. */
function* departuresBefore(store: Store, last: Position): Iterable<Departure> {
  // Departures of expired cycles are older than any tombstone.
  const first = store.expiry.firstPosition()
  for (let position = last; position >= first; position--) {
    const record = store.readColumns(position) ?? fail(`cycle ${position} has no record`)
    const posts = departedPosts(readCycleTable(record, 'removals'))
    yield { posts, leftAtMs: readCycleHeader(record).left_at }
  }
}

/** The posts of the removals that took effect. */
function departedPosts(removals: CycleRows<'removals'>): PostKeys {
  const { gall_id, post_no } = removals
  const rows = Uint32Array.from(post_no.keys()).filter((row) => tookEffect(removals, row))
  const table = new GalleryTable()
  return {
    galleries: table.ids,
    gallery: rows.map((row) => table.code(gall_id[row] ?? '')),
    postNo: Float64Array.from(rows, (row) => post_no[row]!),
  }
}
