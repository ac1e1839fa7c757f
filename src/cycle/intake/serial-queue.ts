/**
 * A serial queue: one piece of work at a time, in order. Everything that changes the pool, the weights or the serving
 * model runs in it.
 */

export type WorkKind = 'cycle' | 'weights' | 'model'

export class SerialQueue {
  #tail: Promise<unknown> = Promise.resolve()
  readonly #counts: Record<WorkKind, number> = { cycle: 0, weights: 0, model: 0 }

  /** Pieces of a kind in progress and waiting. */
  count(kind: WorkKind): number {
    return this.#counts[kind]
  }

  /** True when nothing is in progress and nothing waits. */
  get isEmpty(): boolean {
    return Object.values(this.#counts).every((count) => count === 0)
  }

  /** Runs `work` after everything that was added before it, whether that succeeds or fails. */
  run<Result>(kind: WorkKind, work: () => Promise<Result>): Promise<Result> {
    this.#counts[kind]++
    const done = this.#tail.then(work)
    const remove = (): number => this.#counts[kind]--
    this.#tail = done.then(remove, remove)
    return done
  }

  /** Resolves when everything that is in progress or waiting now has ended. */
  async drained(): Promise<void> {
    await this.#tail
  }
}
