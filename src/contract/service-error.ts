/** The error class that carries a refusal to the error response. */
import { errorTable, type ErrorKind } from './errors.js'
import { refusalKind, refusalText, type Refusal } from './refusals.js'
import type { ErrorRecord, FieldProblem } from './wire.js'

/** An error that becomes an error response. It is an expected failure, never a bug in this program. */
export class ServiceError extends Error {
  readonly reason: Refusal
  readonly kind: ErrorKind
  readonly fields: readonly FieldProblem[] | undefined
  /** Seconds of `Retry-After`: always with 503, and with 422 for a cycle that is only early. */
  readonly retryAfterS: number | undefined

  constructor(
    reason: Refusal,
    more: {
      fields?: readonly FieldProblem[] | undefined
      retryAfterS?: number
      cause?: unknown
    } = {},
  ) {
    super(refusalText(reason), more.cause === undefined ? undefined : { cause: more.cause })
    this.name = 'ServiceError'
    this.reason = reason
    this.kind = refusalKind(reason)
    this.fields = more.fields
    this.retryAfterS = more.retryAfterS ?? (this.kind === 'unavailable' ? 5 : undefined)
  }

  get status(): number {
    return errorTable[this.kind].status
  }

  /** Value of `error.code` in the response. */
  get code(): string {
    return errorTable[this.kind].code
  }

  /** Value of `Allow` (405). */
  get allow(): string | undefined {
    return this.reason.code === 'wrong_method' ? this.reason.allow : undefined
  }

  toRecord(): ErrorRecord {
    return {
      error: {
        code: this.code,
        message: this.message,
        ...(this.fields === undefined ? {} : { fields: [...this.fields] }),
      },
    }
  }
}
