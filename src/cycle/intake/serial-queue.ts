/**
 * A serial queue: one piece of work at a time, in order. Everything that changes the pool, the weights or the serving
 * model runs in it.
 */
import { Semaphore } from '../../base/index.js'
import { assert } from '../../contract/index.js'

export type WorkKind = 'cycle' | 'weights' | 'model'

export class SerialQueue {
  /** What adds to it bounds it: cycles that wait, connections for weights, one swap of models and one change of owner. */
  readonly #permit = new Semaphore(1)
  readonly #counts: Record<WorkKind, number> = { cycle: 0, weights: 0, model: 0 }

  /** Pieces of a kind in progress and waiting. */
  count(kind: WorkKind): number {
    return this.#counts[kind]
  }

  /** True when nothing is in progress and nothing waits. */
  get isEmpty(): boolean {
    return Object.values(this.#counts).every((count) => count === 0)
  }

  /**
   * Runs `work` after everything that was added before it, whether that succeeds or fails. Rejects without running it when
   * `signal` is aborted first.
   */
  async run<Result>(kind: WorkKind, work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    this.#counts[kind]++
    try {
      return await this.#permit.run(work, signal)
    } finally {
      this.#counts[kind]--
      assert(this.#counts[kind] >= 0, 'each piece of work ends once')
    }
  }

  /** Resolves when everything that is in progress or waiting now has ended. */
  drained(): Promise<void> {
    return this.#permit.run(() => Promise.resolve())
  }
}
