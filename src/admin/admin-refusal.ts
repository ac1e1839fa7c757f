/** A refusal of the admin listener: the page makes the sentence of its reason in the reader's language. */
import { refusalText, ServiceError, type ErrorKind, type Refusal } from '../contract/index.js'

export class AdminRefusal extends ServiceError {
  readonly reason: Refusal

  constructor(kind: ErrorKind, reason: Refusal, more: { allow?: string; retryAfterS?: number } = {}) {
    super(kind, refusalText(reason), more)
    this.reason = reason
  }
}
