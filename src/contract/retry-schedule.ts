/**
 * `Retry-After` of refused callers, in whole seconds. Each refusal reserves the time of one piece of work from the moment
 * of the retry on, after the earlier reservations, so that callers who were refused together do not all return together.
 */
import { assert } from './assert.js'

const secondsMaxDefault = 10
/** Weight of the newest piece of work in the mean. */
const newestWeight = 0.1

export class RetrySchedule {
  readonly #secondsMax: number
  readonly #now: () => number
  /** Where the last reservation ends, by the clock. */
  #reservedUntilMs = 0
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
    assert(ms >= 0, 'a duration is not negative')
    this.#meanWorkMs = this.#meanWorkMs === 0 ? ms : this.#meanWorkMs + newestWeight * (ms - this.#meanWorkMs)
  }

  /**
   * Seconds until a caller should retry, at least 1, when `waitingCount` pieces of work wait and `slotCount` may run and
   * wait at the same time. Returns the maximum without a reservation when all time until then is reserved.
   */
  reserve(waitingCount: number, slotCount: number): number {
    const nowMs = this.#now()
    const earliest = Math.max(1, Math.ceil((waitingCount * this.#meanWorkMs) / 1000))
    // Callers who retry at one moment occupy the slots for this long.
    const slotsMs = slotCount * this.#meanWorkMs
    const endMs = this.#reservedUntilMs + this.#meanWorkMs
    const seconds = Math.max(earliest, Math.ceil((endMs - slotsMs - nowMs) / 1000))
    if (seconds >= this.#secondsMax) return this.#secondsMax
    this.#reservedUntilMs = Math.max(endMs, nowMs + seconds * 1000 + this.#meanWorkMs)
    return seconds
  }
}
