/**
 * So many pieces of work at a time, the others in order after them.
 */
export class FewAtATime {
  readonly #activeMax: number
  #active = 0
  readonly #waiting: (() => void)[] = []

  constructor(activeMax: number) {
    this.#activeMax = activeMax
  }

  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#active < this.#activeMax) this.#active++
    else await new Promise<void>((start) => this.#waiting.push(start))
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      // The place is handed on, or given up.
      if (next === undefined) this.#active--
      else next()
    }
  }
}
