/**
 * The lane: one piece of work at a time, in order, with a bounded number of them waiting. Whatever changes the pool
 * or the weights goes through it.
 */

export class Lane {
  readonly #waitingMax: number
  #tail: Promise<unknown> = Promise.resolve()
  /** Under way and waiting. */
  #count = 0

  constructor(waitingMax: number) {
    this.#waitingMax = waitingMax
  }

  /** True when one piece is under way and as many wait as may. */
  get full(): boolean {
    return this.#count > this.#waitingMax
  }

  run<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#count++
    const done = this.#tail.then(work)
    this.#tail = done.then(
      () => this.#count--,
      () => this.#count--,
    )
    return done
  }

  /** Resolves when what is under way or waiting now has ended. */
  async idle(): Promise<void> {
    await this.#tail
  }
}
