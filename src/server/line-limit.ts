/**
 * Limits the log lines of requests without a known key. Anyone can send any number of them, and a line for each would fill the
 * disk and take a third of the time of such a request.
 */
import { secondMs } from '../base/index.js'

const linesPerSecondMax = 10

export class LineLimit {
  #secondStartedAtMs = -Infinity
  #lines = 0
  #omitted = 0

  /** Null: the line is left out. Otherwise the number of lines that were left out since the last one. */
  take(nowMs: number): number | null {
    if (nowMs - this.#secondStartedAtMs >= secondMs) {
      this.#secondStartedAtMs = nowMs
      this.#lines = 0
    }
    if (this.#lines === linesPerSecondMax) {
      this.#omitted++
      return null
    }
    this.#lines++
    const omitted = this.#omitted
    this.#omitted = 0
    return omitted
  }
}
