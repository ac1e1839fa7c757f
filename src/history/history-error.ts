/** An expected failure of what reads the stored cycles, with a message for the user on one line. */

export class HistoryError extends Error {
  /** `not_found`: the request names a cycle or a post that is not stored. */
  readonly kind: 'not_found' | 'failed'

  constructor(kind: HistoryError['kind'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'HistoryError'
    this.kind = kind
  }
}
