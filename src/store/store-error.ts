/**
 * An expected failure of durable storage, as a code that callers can branch on and one line that an operator can act on.
 */

/**
 * - `exists`: the cycle id is already stored.
 * - `busy`: the write queue is full.
 * - `full`: no room, on the disk or under the store's own bound.
 * - `failed`: the storage refused the write; `cause` has the reason.
 * - `closed`: called after `close`.
 * - `locked`: another process serves this data directory.
 * - `standby`: another process is the owner of the environment.
 * - `unusable`: the data directory or a file in it cannot be used: foreign, damaged, or of another version.
 */
export type StoreErrorCode =
  'exists' | 'busy' | 'full' | 'failed' | 'closed' | 'locked' | 'standby' | 'unusable'

export class StoreError extends Error {
  readonly code: StoreErrorCode

  constructor(code: StoreErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StoreError'
    this.code = code
  }
}

/** The storage refused a set of changes for what is in it, or for its size. Nothing of it is stored; others may be. */
export class RefusedChanges extends StoreError {}

/** An error of LMDB or of the operating system: those carry the number that C returned. */
export function isNativeError(error: unknown): error is Error & { code: number } {
  return error instanceof Error && 'code' in error && typeof error.code === 'number'
}
