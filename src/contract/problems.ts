/**
 * Collects the problems of a request: every failing path, up to `fieldCountMax`.
 */
import { fieldCountMax, ServiceError } from './errors.js'
import type { FieldProblem } from './wire.js'

export class Problems {
  readonly fields: FieldProblem[] = []
  count = 0

  add(path: string, problem: string): void {
    this.count++
    if (this.listing) this.fields.push({ path, problem })
  }

  /** Counts a problem that would not be listed, without its path and text. */
  addUnlisted(): void {
    this.count++
  }

  /** Whether the next problem will be listed. */
  get listing(): boolean {
    return this.fields.length < fieldCountMax
  }

  /** The error for these problems; `summary` is the first half of its message. */
  toError(kind: 'bad_request' | 'unprocessable', summary: string): ServiceError {
    const more = this.count - this.fields.length
    const unit = more === 1 ? 'problem is' : 'problems are'
    const tail = more === 0 ? '' : `; ${more} more ${unit} not listed`
    return new ServiceError(kind, `${summary}${tail}`, { fields: this.fields })
  }
}

/** `['engagement', 3, 'views']` → `engagement[3].views`. */
export function pathText(path: readonly (string | number)[]): string {
  return path
    .map((key, depth) => (typeof key === 'number' ? `[${key}]` : depth === 0 ? key : `.${key}`))
    .join('')
}
