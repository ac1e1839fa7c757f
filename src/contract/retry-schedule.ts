/**
 * `Retry-After` of refused callers, in whole seconds. Each refusal reserves time for one piece of work at the moment of
 * the retry, so that callers who were refused together do not all return together.
 */
import { assert } from './assert.js'

const intervalMs = 50
const secondsMaxDefault = 10
/** Weight of the newest piece of work in the mean. */
const newestWeight = 0.1

export class RetrySchedule {
  readonly #secondsMax: number
  readonly #now: () => number
  /** A ring: milliseconds of work reserved in each interval, and the number of the interval that an entry is for. */
  readonly #reservedMs: Float64Array
  readonly #interval: Float64Array
  #meanWorkMs = 0

  /** `now`: milliseconds of any monotonic clock. */
  constructor(secondsMax = secondsMaxDefault, now = (): number => performance.now()) {
    this.#secondsMax = secondsMax
    this.#now = now
    const length = ((secondsMax + 1) * 1000) / intervalMs
    this.#reservedMs = new Float64Array(length)
    this.#interval = new Float64Array(length).fill(-1)
  }

  /** Moving average of the time between two completed pieces of work; 0 before the first. */
  get meanWorkMs(): number {
    return this.#meanWorkMs
  }

  /** Records a completed piece of work. `ms`: since the one before it completed, or since it began if that is later. */
  recordWork(ms: number): void {
    assert(ms >= 0, 'work takes no negative time')
    this.#meanWorkMs = this.#meanWorkMs === 0 ? ms : this.#meanWorkMs + newestWeight * (ms - this.#meanWorkMs)
  }

  /**
   * Seconds until a caller should retry, at least 1, when `waitingCount` pieces of work wait and `slotCount` may run and
   * wait at once. Returns the maximum without a reservation when all time until then is reserved.
   */
  reserve(waitingCount: number, slotCount: number): number {
    const nowMs = this.#now()
    const earliest = Math.max(1, Math.ceil((waitingCount * this.#meanWorkMs) / 1000))
    for (let seconds = earliest; seconds < this.#secondsMax; seconds++)
      if (this.#reserveFrom(Math.floor((nowMs + seconds * 1000) / intervalMs), slotCount)) return seconds
    return this.#secondsMax
  }

  /**
   * Reserves one piece of work from interval `first` on, within the time that `slotCount` pieces take. False when too
   * little of that time is free.
   */
  #reserveFrom(first: number, slotCount: number): boolean {
    const count = Math.min(Math.ceil((slotCount * this.#meanWorkMs) / intervalMs), this.#interval.length)
    const end = first + Math.max(1, count)
    let freeMs = 0
    for (let interval = first; interval < end; interval++) freeMs += intervalMs - this.#reservedIn(interval)
    if (freeMs < this.#meanWorkMs) return false
    let leftMs = this.#meanWorkMs
    for (let interval = first; interval < end && leftMs > 0; interval++) {
      const reservedMs = this.#reservedIn(interval)
      const addedMs = Math.min(leftMs, intervalMs - reservedMs)
      const entry = interval % this.#interval.length
      this.#reservedMs[entry] = reservedMs + addedMs
      this.#interval[entry] = interval
      leftMs -= addedMs
    }
    return true
  }

  #reservedIn(interval: number): number {
    const entry = interval % this.#interval.length
    return this.#interval[entry] === interval ? (this.#reservedMs[entry] as number) : 0
  }
}
