/** Repeats something that has failed. The delay doubles with each failure and varies, so that pages do not retry together. */
const retryMsMin = 1000
const retryMsMax = 15_000

export class Backoff {
  readonly #work: () => void
  #delayMs = retryMsMin
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(work: () => void) {
    this.#work = work
  }

  schedule(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(this.#work, this.#delayMs * (0.75 + Math.random() / 4))
    this.#delayMs = Math.min(2 * this.#delayMs, retryMsMax)
  }

  /** Cancels what is scheduled; the next delay is the shortest one. */
  reset(): void {
    clearTimeout(this.#timer)
    this.#delayMs = retryMsMin
  }
}
