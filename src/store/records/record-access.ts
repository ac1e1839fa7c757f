/**
 * What the kinds of records need to read and write, and what LMDB, memory and a journal implement.
 */
import { firstLineOf } from '../../base/index.js'
import { StoreError } from '../store-error.js'
import type { Databases, RecordDatabase } from './databases.js'
import type { WriteQueue } from './write-queue.js'

type Readable<Key> = Pick<RecordDatabase<Key>, 'getBinary'>

/** How databases are written. */
export type Writes = Pick<WriteQueue, 'write' | 'count'>

/** Databases, wherever they are. */
export interface RecordStoreParts {
  readonly databases: Databases
  readonly writes: Writes
  /** `Store.healthy`. */
  readonly isHealthy: () => boolean
  /** Waits for writes under way, then closes the databases. Called once. */
  readonly close: () => Promise<void>
}

export interface RecordAccess {
  readonly writes: Writes
  /** Throws a StoreError `closed` when the store is closed. `read` calls it. */
  readonly checkOpen: () => void
  /** What `unpack` returns for a copy of a record; undefined if there is none. */
  readonly read: <K extends number | Uint8Array, T>(
    database: Readable<K>,
    key: K,
    unpack: (record: Uint8Array) => T,
  ) => T | undefined
}

/** A copy of a record, or undefined. Throws a StoreError `failed`. */
export function readRecord<K extends number | Uint8Array>(
  database: Readable<K>,
  key: K,
): Uint8Array | undefined {
  try {
    return database.getBinary(key)
  } catch (error) {
    throw new StoreError('failed', `the storage cannot be read: ${firstLineOf(error)}`, { cause: error })
  }
}

/** The length of the records of one write together. */
export function bytesOf(parts: readonly (Uint8Array | null)[]): number {
  return parts.reduce((sum, part) => sum + (part?.byteLength ?? 0), 0)
}

/** Keys contain hashes of names: one name must not be mistaken for another. */
export function checkName(stored: string, requested: string): void {
  if (stored !== requested) throw new StoreError('failed', 'hash collision: two names have the same key')
}
