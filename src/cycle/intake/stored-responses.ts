/**
 * Responses of stored cycles in memory: the newest one, and up to a number of bytes those that were read last. Readers of the
 * newest scores and clients that retry cost neither a read of the store nor a copy nor a checksum each.
 */
import { assert } from '../../contract/index.js'
import type { Position, StoredCycle } from '../../store/index.js'

export interface AnsweredCycle {
  readonly cycle: StoredCycle
  /** Nobody may change it. */
  readonly response: Uint8Array
}

export class StoredResponses {
  readonly #bytesMax: number
  /** The one that was read last is last. */
  readonly #kept = new Map<string, AnsweredCycle>()
  #bytes = 0
  #newest: AnsweredCycle | null = null
  /** Cycles up to this position are being removed from the store, or have been. */
  #expiredUpTo: Position = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get bytes(): number {
    return this.#bytes
  }

  find(cycleId: string): AnsweredCycle | undefined {
    if (this.#newest?.cycle.cycleId === cycleId) return this.#newest
    const kept = this.#kept.get(cycleId)
    if (kept === undefined) return undefined
    this.#kept.delete(cycleId)
    this.#kept.set(cycleId, kept)
    return kept
  }

  keep(cycle: StoredCycle, response: Uint8Array): void {
    this.#drop(cycle.cycleId)
    if (cycle.position <= this.#expiredUpTo || response.length > this.#bytesMax) return
    this.#kept.set(cycle.cycleId, { cycle, response })
    this.#bytes += response.length
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= this.#bytesMax) break
      this.#drop(oldest)
    }
  }

  /**
   * Keeps the response of a new cycle until the next one. To keep all of them up to the limit would take new memory for each,
   * which costs 3 to 7 % of a cycle.
   */
  keepNewest(newest: AnsweredCycle): void {
    this.#newest = newest
  }

  /** Drops the responses of the cycles up to a position, and keeps none of them from now on. */
  expireUpTo(position: Position): void {
    this.#expiredUpTo = position
    this.dropUpTo(position)
  }

  dropUpTo(position: Position): void {
    if (this.#newest !== null && this.#newest.cycle.position <= position) this.#newest = null
    for (const { cycle } of this.#kept.values()) if (cycle.position <= position) this.#drop(cycle.cycleId)
  }

  #drop(cycleId: string): void {
    this.#bytes -= this.#kept.get(cycleId)?.response.length ?? 0
    this.#kept.delete(cycleId)
    assert(this.#bytes >= 0, 'each response in memory is counted once')
  }
}
