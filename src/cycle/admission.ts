/**
 * Who is let in: by the first bytes of a body, by the whole of it, and by what it means. One that may repeat a cycle
 * needs no place in the line; a new cycle has one at the latest when it is decoded. What would find no place is refused
 * as early as that is known, since under overload the work on it would be taken from the cycles that are answered.
 */
import type { Store } from '../store/index.js'
import { Places, type Place } from './places.js'
import { statedCycleId } from './stated-id.js'

/** A body this small is decoded whether or not there is a place for it, since saying what it is costs little. */
const freeBytesMax = 64 * 1024

export class Admission {
  readonly #store: Pick<Store, 'findCycle'>
  readonly #places: Places

  /** `waitingMax`, cycles that may wait behind the one under way, is asked each time: it may change. */
  constructor(store: Pick<Store, 'findCycle'>, waitingMax: () => number) {
    this.#store = store
    this.#places = new Places(waitingMax)
  }

  /**
   * A body begins to arrive with `start`, empty where it cannot be read yet; `bytesMax` is how long it may become. Throws
   * `unavailable` when it would find no place. A small body is let in; so is a cycle that is stored or under way, and a
   * body that does not tell yet which cycle it is. The function returned says that the body has arrived, or never will.
   */
  begin(start: Uint8Array, bytesMax: number): () => void {
    const cycleId = statedCycleId(start)
    if (bytesMax <= freeBytesMax || cycleId === null) return () => undefined
    if (this.#places.willHaveRoom(cycleId)) return this.#places.expect()
    if (this.#isStored(cycleId)) return () => undefined
    throw this.#places.refusal()
  }

  /**
   * The place of a body that states `cycleId`, null for none, before it is decoded; null where it needs none unless
   * decoding tells otherwise. Throws `unavailable`.
   */
  placeFor(json: Uint8Array, cycleId: string | null): Place | null {
    if (json.length <= freeBytesMax || cycleId === null || this.#isStored(cycleId)) return null
    return this.#places.take(cycleId)
  }

  /** The place of a new cycle, for the one that its body was given: what it stated need not be what it means. */
  exchange(place: Place | null, cycleId: string): Place {
    if (place?.cycleId === cycleId) return place
    place?.leave()
    return this.#places.take(cycleId)
  }

  #isStored(cycleId: string): boolean {
    return this.#store.findCycle(cycleId) !== undefined
  }
}
