/**
 * How the parts of the store on LMDB write and read.
 */
import { describe, StoreError } from '../store-error.js'
import type { Position } from '../store.js'

interface Readable<K> {
  getBinary(key: K): Uint8Array | undefined
}

export interface RecordAccess {
  /** Throws a StoreError `closed` when the store is closed. `write` and `read` call it. */
  readonly checkOpen: () => void
  /**
   * Runs `apply`, with the position of the next cycle, in a transaction, and resolves when that is flushed. `bytes`: about
   * what it writes. `isCycle`: its success shows that cycles can be stored.
   */
  readonly write: <T>(bytes: number, apply: (next: Position) => T, isCycle?: boolean) => Promise<T>
  /** A copy of a record, or undefined. */
  readonly read: <K extends number | Uint8Array>(database: Readable<K>, key: K) => Uint8Array | undefined
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
export function bytesOf(...parts: readonly (Uint8Array | null)[]): number {
  return parts.reduce((sum, part) => sum + (part?.byteLength ?? 0), 0)
}

/** Names stand in keys as hashes: one name must not be taken for another. */
export function checkName(stored: string, asked: string): void {
  if (stored !== asked) throw new StoreError('failed', 'two names share a key')
}
