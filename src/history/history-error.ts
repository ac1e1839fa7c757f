/** An expected failure of what reads the stored cycles, with a message for the user on one line. */
import { refusalText, type Refusal } from '../contract/index.js'

export class HistoryError extends Error {
  readonly reason: Refusal

  constructor(reason: Refusal, options?: ErrorOptions) {
    super(refusalText(reason), options)
    this.name = 'HistoryError'
    this.reason = reason
  }
}
