/**
 * What memory knows of the newest cycle, so that one that is newer still is taken in without a look at the store: the
 * first read in a turn of the event loop begins a transaction, and a timer to end it, which together cost more than
 * all else that is asked of the store for a cycle. What memory cannot be sure of, it does not say.
 */
import type { StoredCycle } from './store.js'

export class NewestCycle {
  readonly #readIdMax: () => string
  /** No id in the store is greater: it is raised before a write begins, whatever becomes of that. */
  #idMax: string | undefined
  #cycle: StoredCycle | undefined
  #insertCount = 0

  /** `readIdMax`: the greatest id in the store, or ''. Asked for once, and before the first insert. */
  constructor(readIdMax: () => string) {
    this.#readIdMax = readIdMax
  }

  /** False for an id that was never stored. Throws what the look at the store throws. */
  mayHave(cycleId: string): boolean {
    this.#idMax ??= this.#readIdMax()
    return cycleId <= this.#idMax
  }

  /**
   * The last cycle to arrive. Undefined where only the store knows: before the first insert, during one, and from one
   * that failed, which may be stored all the same, until the next that succeeds.
   */
  get cycle(): StoredCycle | undefined {
    return this.#cycle
  }

  /** An insert begins, the only one at a time. To be called back once it is stored. */
  insert(cycleId: string): (cycle: StoredCycle) => void {
    if (!this.mayHave(cycleId)) this.#idMax = cycleId
    this.#cycle = undefined
    const number = ++this.#insertCount
    return (cycle) => {
      if (number === this.#insertCount) this.#cycle = cycle
    }
  }
}
