/** An expected failure of what reads the stored cycles, with a message for the user on one line. */
import { refusalText, type Refusal } from '../contract/index.js'

export class HistoryError extends Error {
  /** `not_found`: the request names a cycle or a post that is not stored. */
  readonly kind: 'not_found' | 'failed'
  /** Null: the message has a text that is not of this program. */
  readonly reason: Refusal | null

  constructor(kind: HistoryError['kind'], reason: Refusal | string, options?: ErrorOptions) {
    super(typeof reason === 'string' ? reason : refusalText(reason), options)
    this.name = 'HistoryError'
    this.kind = kind
    this.reason = typeof reason === 'string' ? null : reason
  }
}
