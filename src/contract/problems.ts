/**
 * Collects the problems of a request: every failing path, up to `fieldCountMax`.
 */
import { fieldCountMax } from './errors.js'
import type { Refusal } from './refusals.js'
import { ServiceError } from './service-error.js'
import type { FieldProblem } from './wire.js'

type ProblemsCode = Extract<Refusal, { readonly unlisted: number }>['code']

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

  toError(code: ProblemsCode, more: { readonly retryAfterS?: number } = {}): ServiceError {
    const unlisted = this.count - this.fields.length
    return new ServiceError({ code, unlisted }, { fields: this.fields, ...more })
  }
}

/** `['engagement', 3, 'views']` → `engagement[3].views`. */
export function pathText(path: readonly (string | number)[]): string {
  return path
    .map((key, depth) => (typeof key === 'number' ? `[${key}]` : depth === 0 ? key : `.${key}`))
    .join('')
}
