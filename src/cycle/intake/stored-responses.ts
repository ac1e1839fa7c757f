/**
 * Responses of stored cycles in memory, up to a number of bytes; those that were read last stay. Readers of the newest scores
 * and clients that retry cost neither a read of the store nor a copy nor a checksum each. The body of a cycle that was
 * repeated stays as well: to compare bytes takes a small part of the time that their hash takes.
 */
import { mebibyte } from '../../base/index.js'
import { assert } from '../../contract/index.js'
import type { StoredCycle } from '../../store/index.js'

export interface StoredResponse {
  readonly cycle: StoredCycle
  /** Nobody may change it. */
  readonly response: Uint8Array
  /** The body with which the cycle was repeated. */
  readonly request: Uint8Array | null
}

/** Copying a larger body would keep the event loop from other requests. */
const requestBytesMax = mebibyte

export class StoredResponses {
  readonly #bytesMax: number
  /** The one that was read last is last. */
  readonly #kept = new Map<string, StoredResponse>()
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get bytes(): number {
    return this.#bytes
  }

  find(cycleId: string): StoredResponse | undefined {
    const kept = this.#kept.get(cycleId)
    if (kept !== undefined) {
      this.#kept.delete(cycleId)
      this.#kept.set(cycleId, kept)
    }
    return kept
  }

  keep(cycle: StoredCycle, response: Uint8Array): void {
    this.#drop(cycle.cycleId)
    this.#add({ cycle, response, request: null })
  }

  /** Keeps a copy of the body that has repeated a cycle, if the response of the cycle is in memory. */
  keepRequest(cycleId: string, request: Uint8Array): void {
    const kept = this.#kept.get(cycleId)
    if (kept === undefined || kept.request !== null || request.length > requestBytesMax) return
    this.#drop(cycleId)
    this.#add({ ...kept, request: Uint8Array.from(request) })
  }

  /** To be called when stored cycles have been removed or replaced. */
  clear(): void {
    this.#kept.clear()
    this.#bytes = 0
  }

  #add(kept: StoredResponse): void {
    if (bytesOf(kept) > this.#bytesMax) return
    this.#kept.set(kept.cycle.cycleId, kept)
    this.#bytes += bytesOf(kept)
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= this.#bytesMax) break
      this.#drop(oldest)
    }
  }

  #drop(cycleId: string): void {
    const kept = this.#kept.get(cycleId)
    if (kept === undefined) return
    this.#kept.delete(cycleId)
    this.#bytes -= bytesOf(kept)
    assert(this.#bytes >= 0, 'each response in memory is counted once')
  }
}

function bytesOf({ response, request }: StoredResponse): number {
  return response.length + (request?.length ?? 0)
}
