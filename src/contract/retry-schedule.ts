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
  /** Milliseconds of work reserved, by the number of the interval. */
  readonly #reservedMs = new Map<number, number>()
  #meanWorkMs = 0

  /** `now`: milliseconds of any monotonic clock. */
  constructor(secondsMax = secondsMaxDefault, now = (): number => performance.now()) {
    this.#secondsMax = secondsMax
    this.#now = now
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
    for (const interval of this.#reservedMs.keys())
      if ((interval + 1) * intervalMs <= nowMs) this.#reservedMs.delete(interval)
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
    const spanMs = Math.min(slotCount * this.#meanWorkMs, this.#secondsMax * 1000)
    const end = first + Math.max(1, Math.ceil(spanMs / intervalMs))
    const reservedIn = (interval: number): number => this.#reservedMs.get(interval) ?? 0
    let freeMs = 0
    for (let interval = first; interval < end; interval++) freeMs += intervalMs - reservedIn(interval)
    if (freeMs < this.#meanWorkMs) return false
    let leftMs = this.#meanWorkMs
    for (let interval = first; interval < end && leftMs > 0; interval++) {
      const addedMs = Math.min(leftMs, intervalMs - reservedIn(interval))
      this.#reservedMs.set(interval, reservedIn(interval) + addedMs)
      leftMs -= addedMs
    }
    return true
  }
}
