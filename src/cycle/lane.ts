/**
 * The lane: one piece of work at a time, in order. Whatever changes the pool, the weights or the model that
 * scores goes through it. Weights have places of their own; who may stand here as a cycle, Places decides.
 */

export type WorkKind = 'cycle' | 'weights' | 'model'

export class Lane {
  readonly #waitingMax: Readonly<Partial<Record<WorkKind, number>>>
  #tail: Promise<unknown> = Promise.resolve()
  /** Under way and waiting. */
  readonly #count: Record<WorkKind, number> = { cycle: 0, weights: 0, model: 0 }

  /** `waitingMax`: how many of a kind may wait behind one that is under way; absent where others see to it. */
  constructor(waitingMax: Readonly<Partial<Record<WorkKind, number>>>) {
    this.#waitingMax = waitingMax
  }

  /** True when one piece of the kind is under way and as many wait as may. */
  isFull(kind: WorkKind): boolean {
    return this.#count[kind] > (this.#waitingMax[kind] ?? Infinity)
  }

  /** True when a piece of the kind is under way or waits. */
  has(kind: WorkKind): boolean {
    return this.#count[kind] > 0
  }

  /** True when nothing is under way and nothing waits. */
  get isFree(): boolean {
    return Object.values(this.#count).every((count) => count === 0)
  }

  run<Result>(kind: WorkKind, work: () => Promise<Result>): Promise<Result> {
    this.#count[kind]++
    const done = this.#tail.then(work)
    const leave = (): number => this.#count[kind]--
    this.#tail = done.then(leave, leave)
    return done
  }

  /** Resolves when what is under way or waiting now has ended. */
  async idle(): Promise<void> {
    await this.#tail
  }
}
