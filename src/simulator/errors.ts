/**
 * How a simulation fails: the service violated the contract (`ContractViolation`), or the simulation could not run
 * (`SimulationError`), which says nothing about the service's responses.
 */

/** Where a response departs from the contract. */
export interface ViolationDetail {
  /** What is wrong, such as `results[12].reason` or `PUT /v1/images/cat_r1/7/01: status`. */
  readonly path: string
  readonly expected: unknown
  readonly got: unknown
  /** The cycle being processed, or null before the first. */
  readonly cycleId: string | null
}

/** The service sent a response that the contract does not allow. The simulation stops at the first one. */
export class ContractViolation extends Error implements ViolationDetail {
  readonly path: string
  readonly expected: unknown
  readonly got: unknown
  readonly cycleId: string | null

  constructor({ path, expected, got, cycleId }: ViolationDetail) {
    const where = cycleId === null ? '' : ` (cycle ${cycleId})`
    super(`${path}: expected ${shorten(expected)}, got ${shorten(got)}${where}`)
    this.name = 'ContractViolation'
    this.path = path
    this.expected = expected
    this.got = got
    this.cycleId = cycleId
  }
}

/**
 * options: an option is invalid. unauthorized: the service rejects the API key. unreachable: no usable response for
 * longer than the patience. occupied: another client uses the cycle ids. used: the service holds data of others.
 */
export type SimulationErrorKind = 'options' | 'unauthorized' | 'unreachable' | 'occupied' | 'used'

/** The simulation could not start or continue. */
export class SimulationError extends Error {
  readonly kind: SimulationErrorKind

  constructor(kind: SimulationErrorKind, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'SimulationError'
    this.kind = kind
  }
}

/** An option is invalid. */
export class OptionError extends SimulationError {
  /** Name of the option, as in `SimulationOptions`. */
  readonly option: string
  /** Completes a sentence that begins with the name of the option, which a command may spell in another way. */
  readonly problem: string

  constructor(option: string, problem: string) {
    super('options', `${option} ${problem}`)
    this.name = 'OptionError'
    this.option = option
    this.problem = problem
  }
}

const shownCharsMax = 300

function shorten(value: unknown): string {
  if (value === undefined) return 'nothing'
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > shownCharsMax ? `${text.slice(0, shownCharsMax)}…` : text
}
