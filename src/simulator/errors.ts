/**
 * How a simulation fails: the service violated the contract (`ContractViolation`), or the simulation could not run
 * (`SimulationError`), which implies nothing about the service's responses.
 */

/** The service sent a response that the contract does not allow. The simulation stops at the first one. */
export class ContractViolation extends Error {
  /**
   * `path`: what is wrong, such as `results[12].reason` or `PUT /v1/images/cat/7/01: status`. `cycleId`: the cycle
   * in progress, or null before the first.
   */
  constructor(
    readonly path: string,
    readonly expected: unknown,
    readonly got: unknown,
    readonly cycleId: string | null,
  ) {
    const where = cycleId === null ? '' : ` (cycle ${cycleId})`
    super(`${path}: expected ${shorten(expected)}, got ${shorten(got)}${where}`)
    this.name = 'ContractViolation'
  }
}

/**
 * options: an option is invalid. unauthorized: the service rejects the API key. unreachable: no usable response for
 * longer than the retry timeout. occupied: another client uses the cycle ids. used: the service holds data of others.
 */
export type SimulationErrorKind = 'options' | 'unauthorized' | 'unreachable' | 'occupied' | 'used'

/** The simulation could not start or continue. */
export class SimulationError extends Error {
  constructor(
    readonly kind: SimulationErrorKind,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
    this.name = 'SimulationError'
  }
}

/** An option is invalid. */
export class OptionError extends SimulationError {
  /**
   * `option`: its name in `SimulationOptions`. `problem` completes a sentence that begins with the name of the option,
   * which a command may spell in another way.
   */
  constructor(
    readonly option: string,
    readonly problem: string,
  ) {
    super('options', `${option} ${problem}`)
    this.name = 'OptionError'
  }
}

const shownCharsMax = 300

function shorten(value: unknown): string {
  if (value === undefined) return 'nothing'
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > shownCharsMax ? `${text.slice(0, shownCharsMax)}…` : text
}
