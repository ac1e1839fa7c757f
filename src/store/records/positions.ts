/**
 * The position of the next cycle, and whether the file holds what this process has stored. A cycle of another process
 * stops all writes: its candidates are missing from the pool in memory, and from every later pool record. So does a file
 * without the last cycle: it was overwritten, for example with an older copy.
 */
import { StoreError } from '../store-error.js'
import type { Position } from '../store.js'
import type { Databases } from './databases.js'
import { readRecord } from './record-access.js'
import { readHeader } from './payloads.js'

/** Positions of a store. */
export type Positions = Pick<CheckedPositions, 'next' | 'begin' | 'confirm'>

/** 0 in an empty store. */
function lastPosition(cycles: Databases['cycles']): Position {
  return [...cycles.getKeys({ reverse: true, limit: 1 })][0] ?? 0
}

/** Positions of databases that this process only reads, or that also receive the cycles of others from a journal. */
export function plainPositions({ cycles }: Databases): Positions {
  return {
    next: () => lastPosition(cycles) + 1,
    begin: () => undefined,
    confirm: () => undefined,
  }
}

/** Positions of databases that only this process writes. */
export class CheckedPositions {
  readonly #cycles: Databases['cycles']
  readonly #onFileReplaced: (reason: StoreError) => void
  /** Every position up to this one is taken, by a cycle of this process or one that was there at startup. */
  #lastSeen: Position
  /** Ids by position of cycles that were written and are not known to be stored: under way, or reported as failed. */
  readonly #unconfirmed = new Map<Position, string>()

  constructor({ cycles }: Databases, onFileReplaced: (reason: StoreError) => void) {
    this.#cycles = cycles
    this.#onFileReplaced = onFileReplaced
    this.#lastSeen = lastPosition(cycles)
  }

  /** The first position that neither a commit nor the current transaction has taken. */
  next(): Position {
    if (this.#lastSeen > 0 && readRecord(this.#cycles, this.#lastSeen) === undefined)
      this.#onFileReplaced(
        new StoreError(
          'failed',
          `the cycle at position ${this.#lastSeen} is no longer in the file, which was overwritten while it was open; ` +
            'put back the newest copy and restart',
        ),
      )
    for (let position = this.#lastSeen + 1; ; position++) {
      const record = readRecord(this.#cycles, position)
      if (record === undefined) return position
      const { cycleId } = readHeader(record)
      // A write that was reported as failed may have reached the disk.
      if (this.#unconfirmed.get(position) === cycleId) continue
      this.#onFileReplaced(
        new StoreError(
          'failed',
          `another process has stored the cycle ${cycleId} at position ${position}; ` +
            'stop the other process, then restart this one',
        ),
      )
      return position
    }
  }

  /** A transaction writes the cycle here. */
  begin(position: Position, cycleId: string): void {
    this.#unconfirmed.set(position, cycleId)
  }

  /** The cycle at this position is stored. */
  confirm(position: Position): void {
    this.#lastSeen = Math.max(this.#lastSeen, position)
    for (const known of this.#unconfirmed.keys()) if (known <= position) this.#unconfirmed.delete(known)
  }
}
