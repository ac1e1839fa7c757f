/**
 * Measures the stages of one cycle. A stage lasts from the end of the previous one to its `lap`, so each millisecond
 * counts once.
 */
import type { ResponseColumns } from '../codec/index.js'
import type { StageName } from '../contract/index.js'

/** The response to a new cycle, without its results. */
export type CycleSummary = Omit<ResponseColumns, 'results'>

export class StageClock {
  /** Set when a new cycle is stored: for the log. */
  summary: CycleSummary | null = null
  readonly #ms = new Map<StageName, number>()
  #lastMs: number

  /** `startedAtMs`: a time of `performance.now()`. */
  constructor(startedAtMs: number) {
    this.#lastMs = startedAtMs
  }

  /** Ends a stage now. */
  lap(stage: StageName): void {
    const now = performance.now()
    this.#ms.set(stage, now - this.#lastMs)
    this.#lastMs = now
  }

  /** Durations of the stages that have ended. */
  get ms(): ReadonlyMap<StageName, number> {
    return this.#ms
  }

  /** The value of a `Server-Timing` header. */
  toHeader(): string {
    return [...this.#ms].map(([stage, ms]) => `${stage};dur=${ms.toFixed(3)}`).join(', ')
  }
}
