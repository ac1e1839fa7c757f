/**
 * How the parts of the store write and read.
 */
import { describe, StoreError } from '../store-error.js'
import type { Position } from '../store.js'
import type { RecordDatabase } from './databases.js'

type Readable<Key> = Pick<RecordDatabase<Key>, 'getBinary'>

export type WriteOperation =
  | 'appendCycle'
  | 'putImage'
  | 'appendWeights'
  | 'putOutcomes'
  | 'putEmbeddings'
  | 'putShadowScores'
  | 'claimVersion'
  | 'expire'

export interface RecordAccess {
  /** Throws a StoreError `closed` when the store is closed. `write` and `read` call it. */
  readonly checkOpen: () => void
  /**
   * Runs `apply`, with the position of the next cycle, in a transaction, and resolves when that is durable. `bytes`: about
   * what it writes.
   */
  readonly write: <T>(operation: WriteOperation, bytes: number, apply: (next: Position) => T) => Promise<T>
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
    throw new StoreError('failed', `the storage cannot be read: ${describe(error)}`, { cause: error })
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
