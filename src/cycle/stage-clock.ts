/**
 * What each stage of one cycle took. A stage ends where it is lapped; time is counted once, whatever overlaps.
 */

/** Stages of a cycle in order. `wait` is the queue; `encode` includes what is left of compressing the request. */
export const stageNames = [
  'receive',
  'decode',
  'wait',
  'plan',
  'features',
  'infer',
  'encode',
  'commit',
  'send',
] as const
export type StageName = (typeof stageNames)[number]

export class StageClock {
  readonly #ms = new Map<StageName, number>()
  #lastMs: number

  /** `startedAtMs` and all times after it are of `performance.now()`. */
  constructor(startedAtMs: number) {
    this.#lastMs = startedAtMs
  }

  /** Ends a stage now. */
  lap(stage: StageName): void {
    const now = performance.now()
    this.#ms.set(stage, now - this.#lastMs)
    this.#lastMs = now
  }

  /** Milliseconds of the stages that have ended. */
  get ms(): ReadonlyMap<StageName, number> {
    return this.#ms
  }

  /** Value of a `Server-Timing` header. */
  toHeader(): string {
    return [...this.#ms].map(([stage, ms]) => `${stage};dur=${ms.toFixed(3)}`).join(', ')
  }
}
