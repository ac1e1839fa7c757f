/**
 * A counting semaphore: limits how many pieces of work run at the same time. The others wait in order of arrival.
 */

export class Semaphore {
  readonly #activeMax: number
  #active = 0
  readonly #waiting: (() => void)[] = []

  constructor(activeMax: number) {
    this.#activeMax = activeMax
  }

  get waitingCount(): number {
    return this.#waiting.length
  }

  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#active < this.#activeMax) this.#active++
    else await new Promise<void>((start) => this.#waiting.push(start))
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      // The permit passes to the next piece of work, or becomes free.
      if (next === undefined) this.#active--
      else next()
    }
  }
}
