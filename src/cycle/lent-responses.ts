/**
 * Responses that stand in memory of the store, from their encoding until the last caller has sent them. One that is not
 * given back is garbage in the end; its memory is just not used again.
 */
import type { CycleDraft } from '../store/index.js'

interface Loan {
  readonly draft: CycleDraft
  readers: number
}

export class LentResponses {
  readonly #loans = new WeakMap<Uint8Array, Loan>()

  /** `response` stands in the room of `draft`, which is stored. One caller gets it. */
  lend(response: Uint8Array, draft: CycleDraft): void {
    this.#loans.set(response, { draft, readers: 1 })
  }

  /** So many more callers get it. */
  share(response: Uint8Array, readerCount: number): void {
    const loan = this.#loans.get(response)
    if (loan !== undefined) loan.readers += readerCount
  }

  /** One of them has done with it. False: it was not lent here. */
  giveBack(response: Uint8Array): boolean {
    const loan = this.#loans.get(response)
    if (loan === undefined) return false
    if (--loan.readers === 0) loan.draft.release()
    return true
  }
}
