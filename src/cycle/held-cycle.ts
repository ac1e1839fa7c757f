/**
 * A decoded cycle in memory that serves the next ones: it goes back when the last of its readers is done.
 */
import type { DecodedCycle } from '../codec/index.js'
import type { StoredRequest } from '../store/index.js'

export interface HeldCycle {
  readonly cycle: DecodedCycle
  /** Its body as the store keeps it. */
  readonly packing: Promise<StoredRequest>
  /** Who still reads the columns; each calls `letGo` once. */
  readers: number
}

/** One reader is done. */
export function letGo(held: HeldCycle): void {
  if (--held.readers === 0) held.cycle.release?.()
}
