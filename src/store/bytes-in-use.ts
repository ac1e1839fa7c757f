/**
 * How much of the file is in use. Only commits change it, and all of them go through the writer; so it is asked for once
 * after each, mostly by HeadRoom when the answers are on their way, and not by the next write while an answer waits.
 */
export class BytesInUse {
  readonly #ask: () => number
  #known: number | undefined

  /** `ask`: looks at the file. */
  constructor(ask: () => number) {
    this.#ask = ask
  }

  /** As of the last commit. Throws what the look throws. */
  now(): number {
    this.#known ??= this.#ask()
    return this.#known
  }

  /** Of one that failed, nobody knows what it left. */
  commitEnded(): void {
    this.#known = undefined
  }
}
