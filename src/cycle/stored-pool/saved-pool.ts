/**
 * The saved pool: from the state to the table that `src/records` declares, and back.
 */
import {
  assert,
  GalleryTable,
  postByteNames,
  postFloatNames,
  readingNames,
  snapshotColumnNames,
  textMeasureNames,
} from '../../contract/index.js'
import {
  Pool,
  SlotIndex,
  stateProblem,
  Tombstones,
  type Departure,
  type PoolState,
  type PostKeys,
} from '../../pool/index.js'
import {
  packSavedPool,
  readCycleHeader,
  readCycleTable,
  readSavedPool,
  tookEffect,
  type CycleRows,
  type PoolRows,
} from '../../records/index.js'
import { StoreError, type Position, type Store } from '../../store/index.js'

export function packPool(state: PoolState): Uint8Array {
  const { position, newestCycleMs, galleries, posts } = state
  assert(position > 0, 'a saved pool has a cycle')
  const postNames = [...postFloatNames, ...postByteNames, 'imagePositionsFingerprint'] as const
  const rows: PoolRows = {
    count: state.count,
    gallery: Float64Array.from(state.gallery),
    postNo: state.postNo,
    enteredPosition: state.enteredPosition,
    enteredRow: state.enteredRow,
    ...rowsOf('posts', postNames, posts),
    ...rowsOf('posts.title', textMeasureNames, posts.title),
    ...rowsOf('posts.body', textMeasureNames, posts.body),
    ...rowsOf('latest', readingNames, state.latest),
    ...rowsOf('previous', readingNames, state.previous),
    ...rowsOf('snapshot', snapshotColumnNames, state.snapshot),
  }
  return packSavedPool({ position, newestCycleMs, galleries }, rows)
}

/** The pool as it was after the cycle at `position`. Throws for one that is not usable. */
export function readPool(store: Store, position: Position): Pool {
  const { header, rows } = readSavedPool(store.readSavedPool(position) ?? fail('it is missing'))
  // Keys of records have no checksum.
  if (header.position !== position) fail(`it is that of position ${header.position}`)
  const { newestCycleMs, galleries } = header
  const { count, postNo, enteredPosition, enteredRow } = rows
  const gallery = Uint32Array.from(rows.gallery)
  const state: PoolState = {
    position,
    count,
    galleries,
    gallery,
    postNo,
    index: new SlotIndex({ galleries, gallery, postNo }),
    enteredPosition,
    enteredRow,
    posts: {
      ...groupOf(rows, 'posts', postFloatNames, float64),
      ...groupOf(rows, 'posts', postByteNames, uint8),
      ...groupOf(rows, 'posts', ['imagePositionsFingerprint'], uint32),
      title: groupOf(rows, 'posts.title', textMeasureNames, uint32),
      body: groupOf(rows, 'posts.body', textMeasureNames, uint32),
    },
    latest: groupOf(rows, 'latest', readingNames, float64),
    previous: groupOf(rows, 'previous', readingNames, float64),
    snapshot: groupOf(rows, 'snapshot', snapshotColumnNames, float64),
    newestCycleMs,
  }
  const problem = stateProblem(state)
  if (problem !== null) fail(problem)
  const tombstones = Tombstones.at(newestCycleMs, departuresBefore(store, position))
  tombstones.delete(state)
  return new Pool(state, tombstones)
}

function fail(problem: string): never {
  throw new StoreError('unusable', `a saved pool cannot be used: ${problem}`)
}

type GroupRows<Group extends string, Name extends string> = Readonly<Record<`${Group}.${Name}`, Float64Array>>

/** The columns of a group, as the table names them. */
function rowsOf<Group extends string, Name extends string>(
  group: Group,
  names: readonly Name[],
  columns: Readonly<Record<Name, Float64Array | Uint32Array | Uint8Array>>,
): GroupRows<Group, Name> {
  const rows = names.map((name) => [`${group}.${name}`, float64(columns[name])])
  return Object.fromEntries(rows) as GroupRows<Group, Name>
}

/** The inverse of `rowsOf`. */
function groupOf<Group extends string, Name extends string, Column>(
  rows: GroupRows<Group, Name>,
  group: Group,
  names: readonly Name[],
  columnOf: (values: Float64Array) => Column,
): Record<Name, Column> {
  const columns = names.map((name) => [name, columnOf(rows[`${group}.${name}`])])
  return Object.fromEntries(columns) as Record<Name, Column>
}

const uint8 = (values: Float64Array): Uint8Array => Uint8Array.from(values)
const uint32 = (values: Float64Array): Uint32Array => Uint32Array.from(values)

function float64(values: Float64Array | Uint32Array | Uint8Array): Float64Array {
  return values instanceof Float64Array ? values : Float64Array.from(values)
}

/** Departures from the newest back: the tombstones need few of them, however long the history is. */
function* departuresBefore(store: Store, last: Position): Iterable<Departure> {
  // Departures of expired cycles are older than any tombstone.
  const first = store.expiry.firstPosition()
  for (let position = last; position >= first; position--) {
    const record = store.readRecord(position) ?? fail(`cycle ${position} has no record`)
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
