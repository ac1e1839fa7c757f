/**
 * When to tell a caller that was refused to come back, in whole seconds as `Retry-After` has them. Each gets a stretch of
 * the time to come that is not promised to another, so that those who were refused together do not return together.
 */

const stretchMs = 50
const secondsMaxDefault = 10
/** Part of the newest piece of work in the mean. */
const newestPart = 0.1

export class ReturnTimes {
  readonly #secondsMax: number
  readonly #now: () => number
  /** Milliseconds of work promised in each stretch, in a ring, and the number of the stretch that each stands for. */
  readonly #promisedMs: Float64Array
  readonly #stretch: Float64Array
  #workMs = 0

  /** `now`: milliseconds of any monotonic clock. */
  constructor(secondsMax = secondsMaxDefault, now = (): number => performance.now()) {
    this.#secondsMax = secondsMax
    this.#now = now
    const length = ((secondsMax + 1) * 1000) / stretchMs
    this.#promisedMs = new Float64Array(length)
    this.#stretch = new Float64Array(length).fill(-1)
  }

  /** Mean time after which the next piece of work is taken, newer ones weighing more; 0 before the first. */
  get workMs(): number {
    return this.#workMs
  }

  /** A piece of work is done: so long after the one before it, or after it was begun. */
  note(ms: number): void {
    this.#workMs = this.#workMs === 0 ? ms : this.#workMs + newestPart * (ms - this.#workMs)
  }

  /**
   * Seconds, at least 1, for a caller behind `waitingCount` pieces of work, where `roomCount` may be under way and waiting
   * at once. The longest when all time is promised.
   */
  next(waitingCount: number, roomCount: number): number {
    const nowMs = this.#now()
    const earliest = Math.max(1, Math.ceil((waitingCount * this.#workMs) / 1000))
    for (let seconds = earliest; seconds < this.#secondsMax; seconds++) {
      if (this.#promise(Math.floor((nowMs + seconds * 1000) / stretchMs), roomCount)) return seconds
    }
    return this.#secondsMax
  }

  /**
   * Promises the time of one piece of work to a caller that comes in the stretch `first`: the first that is free before
   * a full line would be done. False where there is too little.
   */
  #promise(first: number, roomCount: number): boolean {
    const count = Math.min(Math.ceil((roomCount * this.#workMs) / stretchMs), this.#stretch.length)
    const end = first + Math.max(1, count)
    let freeMs = 0
    for (let stretch = first; stretch < end; stretch++) freeMs += stretchMs - this.#promisedIn(stretch)
    if (freeMs < this.#workMs) return false
    let leftMs = this.#workMs
    for (let stretch = first; stretch < end && leftMs > 0; stretch++) {
      const promisedMs = this.#promisedIn(stretch)
      const takenMs = Math.min(leftMs, stretchMs - promisedMs)
      const slot = stretch % this.#stretch.length
      this.#promisedMs[slot] = promisedMs + takenMs
      this.#stretch[slot] = stretch
      leftMs -= takenMs
    }
    return true
  }

  #promisedIn(stretch: number): number {
    const slot = stretch % this.#stretch.length
    return this.#stretch[slot] === stretch ? (this.#promisedMs[slot] as number) : 0
  }
}
