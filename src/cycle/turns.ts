/**
 * Turns of the event loop: work that takes milliseconds at a time is done once a turn, so that what is waiting beside
 * it, health above all, is answered in between.
 */

export class Turns {
  readonly #waitingMax: number
  readonly #waiting: (() => void)[] = []
  #taken = false

  constructor(waitingMax: number) {
    this.#waitingMax = waitingMax
  }

  /** True when as many wait as may. */
  get full(): boolean {
    return this.#waiting.length >= this.#waitingMax
  }

  /** Resolves at once when this turn is free, else in a later one, in order. */
  async next(): Promise<void> {
    if (this.#taken) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    else this.#take()
  }

  #take(): void {
    this.#taken = true
    setImmediate(() => {
      const next = this.#waiting.shift()
      if (next === undefined) {
        this.#taken = false
        return
      }
      this.#take()
      next()
    })
  }
}
