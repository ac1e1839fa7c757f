/**
 * The databases of the store: their table, and the methods through which records are read and written. LMDB and memory
 * implement the methods; staged-databases.ts puts the changes of a write on top of them.
 *
 *   meta                text → record: `schema_version` (u32); `journal` in a view of a journal (view-state.ts)
 *   cycles              position → labels of a cycle
 *   cycle_records       position → record of the cycle (src/records)
 *   requests, responses: the same key; they expire before the record
 *   chain               position → hashes of a cycle, and of what expired while it was the last; 0 → the last cycle
 *                       whose record has expired
 *   cycle_ids           cycle id → position
 *   pool                position → the pending pool after that cycle; two at most
 *   images              image key → what identifies it        image_bytes: the same key → the normalised JPEG
 *   image_uses          SHA-256 of an upload and image key → nothing: the images that have the same bytes
 *   embeddings          encoder and what it encoded → a vector
 *   shadow_scores       position and model version → packed scores of a shadow
 *   model_versions      model version → identity of its files
 *   weights             1, 2, 3, … → one entry of the history
 *   weight_versions     version → number of its first entry
 *   weight_times        first cycle → number of the entry that applies from then on; the last cycle is first
 *   outcomes            placement key → id and record
 */
import type { Page } from '../store.js'

/** One database: records by key, in the order of the keys. */
export interface RecordDatabase<Key> {
  /** A copy of a record. */
  getBinary(key: Key): Uint8Array | undefined
  doesExist(key: Key): boolean
  /** Within a write, as `remove`. `record` must not change until the write is committed. */
  put(key: Key, record: Uint8Array): unknown
  remove(key: Key): unknown
  getKeys(range: KeyRange<Key>): Iterable<Key>
  /** Values are views: they are valid in the current turn of the event loop. */
  getRange(range: KeyRange<Key>): Iterable<{ readonly key: Key; readonly value: Uint8Array }>
}

/** Keys from `start` on that are less than `end`. */
export interface KeyRange<Key> {
  readonly start?: Key
  readonly end?: Key
  readonly limit?: number
  readonly reverse?: boolean
}

/**
 * The databases: the name in the file, the form of the keys, and the number in a journal, which never changes
 * and is never used again. `meta` belongs to the file and is in no journal.
 */
export const databaseTable = {
  cycles: { name: 'cycles', keyEncoding: 'uint32', kindNumber: 1 },
  requests: { name: 'requests', keyEncoding: 'uint32', kindNumber: 2 },
  responses: { name: 'responses', keyEncoding: 'uint32', kindNumber: 3 },
  cycleRecords: { name: 'cycle_records', keyEncoding: 'uint32', kindNumber: 4 },
  chain: { name: 'chain', keyEncoding: 'uint32', kindNumber: 5 },
  pool: { name: 'pool', keyEncoding: 'uint32', kindNumber: 8 },
  weights: { name: 'weights', keyEncoding: 'uint32', kindNumber: 9 },
  cycleIds: { name: 'cycle_ids', keyEncoding: 'binary', kindNumber: 10 },
  images: { name: 'images', keyEncoding: 'binary', kindNumber: 11 },
  imageBytes: { name: 'image_bytes', keyEncoding: 'binary', kindNumber: 12 },
  imageUses: { name: 'image_uses', keyEncoding: 'binary', kindNumber: 13 },
  embeddings: { name: 'embeddings', keyEncoding: 'binary', kindNumber: 14 },
  shadowScores: { name: 'shadow_scores', keyEncoding: 'binary', kindNumber: 15 },
  modelVersions: { name: 'model_versions', keyEncoding: 'binary', kindNumber: 16 },
  outcomes: { name: 'outcomes', keyEncoding: 'binary', kindNumber: 17 },
  meta: { name: 'meta', keyEncoding: 'binary', kindNumber: null },
} as const

export type DatabaseName = keyof typeof databaseTable
export type KeyOf<Name extends DatabaseName> = (typeof databaseTable)[Name]['keyEncoding'] extends 'uint32'
  ? number
  : Uint8Array
export type Databases = { readonly [Name in DatabaseName]: RecordDatabase<KeyOf<Name>> }

/** A kind of record: a database of the store, which a journal has too. */
export type Kind = Exclude<DatabaseName, 'meta'>
export const databaseNames = Object.keys(databaseTable) as DatabaseName[]
export const kinds = databaseNames.filter((name) => name !== 'meta')

/** A string that sorts like the key in LMDB. */
export function orderOf(key: number | Uint8Array): string {
  return typeof key === 'number'
    ? String.fromCharCode(key >>> 16, key & 0xffff)
    : Buffer.from(key).toString('latin1')
}

// ---- reading in steps

/** Up to `count` records after the key `cursor`, as `read` returns them; null is before the first record. */
export function pageAfter<Row>(
  database: RecordDatabase<Uint8Array>,
  cursor: Uint8Array | null,
  count: number,
  read: (record: Uint8Array, key: Uint8Array) => Row,
): Page<Row> {
  const entries = [...database.getRange({ start: keyAfter(cursor), limit: count })]
  const last = entries.at(-1)
  return {
    rows: entries.map(({ key, value }) => read(value, key)),
    cursor: last === undefined || entries.length < count ? null : new Uint8Array(last.key),
  }
}

/** The first key after `key` in byte order; null is before all keys. */
export function keyAfter(key: Uint8Array | null): Uint8Array {
  return Uint8Array.of(...(key ?? []), 0)
}
