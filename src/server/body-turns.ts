/**
 * Bodies that arrive at the same time share the turns of the event loop: when enough has been read in one, all of them
 * pause until the next, so that what is waiting beside them, health above all, is answered in between. The oldest goes on
 * first: it is complete the sooner, and its memory serves the next one.
 */

/** As much as a socket gives at a time. Copying it into new memory takes about half a millisecond. */
export const turnBytesMax = 512 * 1024

/** Bodies that have shown less are too many to be told, and cost too little. */
export const largeBytesMin = 256 * 1024

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

  /** So many bytes of `body`, a large one, have just been read, and they are not its last. */
  received(body: ArrivingBody, bytes: number): void {
    this.#bodies.add(body)
    const wasOver = this.#isOver
    this.#turnBytes += bytes
    if (!this.#isTurnEndDue) {
      this.#isTurnEndDue = true
      setImmediate(() => this.#endTurn())
    }
    // One alone holds up nobody: its socket gives no more in a turn.
    if (!this.#isOver || this.#bodies.size === 1) return
    if (wasOver) body.pause()
    else for (const each of this.#bodies) each.pause()
  }

  /** It has arrived, or never will. A second call does nothing. */
  ended(body: ArrivingBody): void {
    this.#bodies.delete(body)
  }

  get #isOver(): boolean {
    return this.#turnBytes >= turnBytesMax
  }

  #endTurn(): void {
    this.#isTurnEndDue = false
    if (this.#isOver) for (const each of this.#bodies) each.resume()
    this.#turnBytes = 0
  }
}
