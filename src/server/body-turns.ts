/**
 * Bodies that arrive at the same time share the turns of the event loop: when enough has been read in one, all of them
 * pause until the next, so that what is waiting beside them, health above all, is answered in between. The oldest goes on
 * first: it is complete the sooner, and its memory serves the next one.
 */

/** As much as a socket gives at a time. Copying it into new memory takes about half a millisecond. */
export const turnBytesMax = 512 * 1024

/** A body that arrives, whose connection can be told to wait. */
export interface ArrivingBody {
  pause(): void
  resume(): void
}

export class BodyTurns {
  /** From old to young. */
  readonly #bodies = new Set<ArrivingBody>()
  #turnBytes = 0
  #isTurnEndDue = false

  /** More of `body` has been read, and not the last of it. */
  received(body: ArrivingBody, bytes: number): void {
    this.#bodies.add(body)
    this.#turnBytes += bytes
    if (!this.#isTurnEndDue) {
      this.#isTurnEndDue = true
      setImmediate(() => this.#endTurn())
    }
    // One alone holds up nobody: its socket gives no more in a turn.
    if (this.#turnBytes >= turnBytesMax && this.#bodies.size > 1)
      for (const each of this.#bodies) each.pause()
  }

  /** It has arrived, or never will. A second call does nothing. */
  ended(body: ArrivingBody): void {
    this.#bodies.delete(body)
  }

  #endTurn(): void {
    this.#isTurnEndDue = false
    if (this.#turnBytes >= turnBytesMax) for (const each of this.#bodies) each.resume()
    this.#turnBytes = 0
  }
}
