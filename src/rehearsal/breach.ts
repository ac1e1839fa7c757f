/**
 * How a rehearsal ends badly: the service broke the contract (`Breach`), or the rehearsal could not be held
 * (`RehearsalError`), which says nothing about the service's answers.
 */

/** Where an answer departs from the contract. */
export interface BreachDetail {
  /** What is wrong, such as `results[12].reason` or `PUT /v1/images/cat_r1/7/01: status`. */
  readonly path: string
  readonly expected: unknown
  readonly got: unknown
  /** The cycle under way, or null before the first. */
  readonly cycleId: string | null
}

/** The service gave an answer that the contract does not allow. The rehearsal stops at the first one. */
export class Breach extends Error implements BreachDetail {
  readonly path: string
  readonly expected: unknown
  readonly got: unknown
  readonly cycleId: string | null

  constructor(detail: BreachDetail) {
    const where = detail.cycleId === null ? '' : ` (cycle ${detail.cycleId})`
    super(`${detail.path}: expected ${show(detail.expected)}, got ${show(detail.got)}${where}`)
    this.name = 'Breach'
    this.path = detail.path
    this.expected = detail.expected
    this.got = detail.got
    this.cycleId = detail.cycleId
  }
}

/**
 * options: a setting makes no sense. unauthorized: the API key was refused. unreachable: no usable answer for
 * longer than the patience. occupied: the cycle ids wanted are taken by another client.
 */
export type RehearsalErrorKind = 'options' | 'unauthorized' | 'unreachable' | 'occupied'

/** The rehearsal could not begin or go on. */
export class RehearsalError extends Error {
  readonly kind: RehearsalErrorKind

  constructor(kind: RehearsalErrorKind, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'RehearsalError'
    this.kind = kind
  }
}

/** An option makes no sense. */
export class OptionError extends RehearsalError {
  /** Name of the option, as in `RehearsalOptions`. */
  readonly option: string
  /** Completes a sentence that begins with the option's name: callers may know it by another one. */
  readonly problem: string

  constructor(option: string, problem: string) {
    super('options', `${option} ${problem}`)
    this.name = 'OptionError'
    this.option = option
    this.problem = problem
  }
}

const shownCharsMax = 300

function show(value: unknown): string {
  if (value === undefined) return 'nothing'
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > shownCharsMax ? `${text.slice(0, shownCharsMax)}…` : text
}
