/**
 * How the parts of the store on LMDB write and read: what LmdbStore lends to each of them, and what they share.
 */
import { StoreError } from '../store-error.js'

export interface RecordAccess {
  /** Throws a StoreError `closed` when the store is closed; `write` and `read` look by themselves. */
  readonly checkOpen: () => void
  /** `bytes`: about what `apply` will write. Resolves when it is flushed. */
  readonly write: <T>(bytes: number, apply: () => T) => Promise<T>
  /** A copy of a record, or undefined. */
  readonly read: <K extends number | Uint8Array>(
    database: { getBinary(key: K): Uint8Array | undefined },
    key: K,
  ) => Uint8Array | undefined
}

/** Of the records of one write; null is none. */
export function bytesOf(...parts: readonly (Uint8Array | null)[]): number {
  return parts.reduce((sum, part) => sum + (part?.byteLength ?? 0), 0)
}

/** Two names with one hash would need some 2^64 tries; what must not happen is that one is taken for the other. */
export function checkName(stored: string, asked: string): void {
  if (stored !== asked) throw new StoreError('failed', 'two names share a key')
}
