/**
 * Whether the file holds the cycles that this process has stored, and no others. A cycle of another process stops all
 * writes: its candidates are missing from the pool in memory, and from every later snapshot. So does a file without the
 * last cycle: it was overwritten, for example with an older copy.
 */
import { assert } from '../../contract/index.js'
import { lastPosition, readCycle, readRecord, type Databases } from '../records/index.js'
import { StoreError } from '../store-error.js'
import type { Position } from '../store.js'

export class OwnCycles {
  readonly #cycles: Databases['cycles']
  /** Every position up to this one is taken, by a cycle of this process or one that was there at startup. */
  #lastStored: Position
  /** Ids by position of cycles whose commit has not succeeded: it is under way, or failed and may have reached the disk. */
  readonly #unconfirmed = new Map<Position, string>()

  constructor(databases: Pick<Databases, 'cycles'>) {
    this.#cycles = databases.cycles
    this.#lastStored = lastPosition(databases)
  }

  /** Called in a transaction, before it writes. Throws a StoreError if another process has changed the file. */
  check(): void {
    if (this.#lastStored > 0 && !this.#cycles.doesExist(this.#lastStored))
      throw new StoreError(
        'failed',
        `the cycle at position ${this.#lastStored} is no longer in the file, which was overwritten while it was open; ` +
          'put back the newest copy and restart',
      )
    for (const [position, cycleId] of this.#newCycles())
      if (this.#unconfirmed.get(position) !== cycleId)
        throw new StoreError(
          'failed',
          `another process has stored the cycle ${cycleId} at position ${position}; ` +
            'stop the other process, then restart this one',
        )
  }

  /** Called in the transaction, after it has written. Returns the last position, for `confirm`. */
  noteWritten(): Position {
    let last = this.#lastStored
    for (const [position, cycleId] of this.#newCycles()) {
      this.#unconfirmed.set(position, cycleId)
      last = position
    }
    return last
  }

  /** The transaction that ended at this position is stored. */
  confirm(last: Position): void {
    assert(last >= this.#lastStored, 'the last position never falls')
    this.#lastStored = last
    for (const position of this.#unconfirmed.keys()) if (position <= last) this.#unconfirmed.delete(position)
  }

  /** Cycles after the last one that is known to be stored. */
  *#newCycles(): Iterable<[position: Position, cycleId: string]> {
    for (let position = this.#lastStored + 1; ; position++) {
      const cycleId = this.#idAt(position)
      if (cycleId === undefined) return
      yield [position, cycleId]
    }
  }

  #idAt(position: Position): string | undefined {
    const record = readRecord(this.#cycles, position)
    return record && readCycle(record).cycleId
  }
}
