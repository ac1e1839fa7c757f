/**
 * Responses of stored cycles. Those that were read last stay in memory, up to a number of bytes: readers of the newest
 * scores and retries cost neither a copy nor a checksum each.
 */
import { assert } from '../../contract/index.js'
import type { Store, StoredCycle } from '../../store/index.js'

interface Kept {
  readonly cycle: StoredCycle
  readonly response: Uint8Array
}

export class StoredResponses {
  readonly #store: Pick<Store, 'readResponse'>
  readonly #bytesMax: number
  /** The one that was read last is last. */
  readonly #kept = new Map<string, Kept>()
  #bytes = 0

  constructor(store: Pick<Store, 'readResponse'>, bytesMax: number) {
    this.#store = store
    this.#bytesMax = bytesMax
  }

  get bytes(): number {
    return this.#bytes
  }

  /** The response if it is in memory. Nobody may change it. `cycle`: as the store has it now. */
  inMemory(cycle: StoredCycle): Uint8Array | undefined {
    const kept = this.#kept.get(cycle.cycleId)
    if (kept === undefined) return undefined
    this.#drop(kept)
    // The records may have been replaced, as by a journal that was read again.
    if (kept.cycle.position !== cycle.position || kept.cycle.receivedAt !== cycle.receivedAt) return undefined
    this.#keep(kept)
    return kept.response
  }

  /** As `inMemory`, and otherwise read from the store; undefined if it is no longer there. */
  read(cycle: StoredCycle): Uint8Array | undefined {
    const known = this.inMemory(cycle)
    if (known !== undefined) return known
    const response = this.#store.readResponse(cycle.cycleId)
    if (response !== undefined && response.length <= this.#bytesMax) this.#keep({ cycle, response })
    return response
  }

  #keep(kept: Kept): void {
    this.#kept.set(kept.cycle.cycleId, kept)
    this.#bytes += kept.response.length
    for (const oldest of this.#kept.values()) {
      if (this.#bytes <= this.#bytesMax) break
      this.#drop(oldest)
    }
  }

  #drop({ cycle, response }: Kept): void {
    this.#kept.delete(cycle.cycleId)
    this.#bytes -= response.length
    assert(this.#bytes >= 0, 'each response in memory is counted once')
  }
}
