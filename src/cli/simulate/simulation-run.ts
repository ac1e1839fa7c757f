/**
 * Runs a simulation for a command: shows its progress and turns its failures into messages for the terminal.
 */
import { codeOf } from '../../base/index.js'
import {
  ContractViolation,
  OptionError,
  resolveWorkload,
  simulate,
  SimulationError,
  type SimulationOptions,
  type SimulationReport,
  type WorkloadOptions,
} from '../../simulator/index.js'
import { CommandError, UsageError } from '../failure.js'
import { ProgressDisplay, type DisplayTarget } from '../text/progress-display.js'

/** OpenSSL's codes for an untrusted certificate, and the file that makes it trusted. */
const trustFiles = new Map([
  ['DEPTH_ZERO_SELF_SIGNED_CERT', '<cert.pem>'],
  ['SELF_SIGNED_CERT_IN_CHAIN', "<the authority's cert.pem>"],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', "<the authority's cert.pem>"],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', "<the authority's cert.pem>"],
])

/** Throws a `UsageError` for invalid options, before there is a service. */
export function checkWorkload(options: WorkloadOptions): void {
  try {
    resolveWorkload(options)
  } catch (cause) {
    throw toCommandError(cause, options)
  }
}

/** Runs a simulation to its end. Violations and failures end in a `CommandError`. */
export async function runSimulation(
  options: SimulationOptions,
  target: DisplayTarget,
): Promise<SimulationReport> {
  const display = new ProgressDisplay(target)
  try {
    return await simulate({
      ...options,
      onProgress: (progress) => display.update(progress),
      onOutage: (outage) => display.outage(outage),
    })
  } catch (cause) {
    throw toCommandError(cause, options)
  } finally {
    display.finish()
  }
}

function toCommandError(cause: unknown, { exclusive }: WorkloadOptions): unknown {
  if (cause instanceof ContractViolation)
    return new CommandError(`the service violated the contract: ${cause.message}`, { cause })
  if (cause instanceof OptionError) return new UsageError(`${flagOf(cause.option)} ${cause.problem}`)
  if (!(cause instanceof SimulationError)) return cause
  return new CommandError(cause.message + remedyOf(cause, exclusive === true), { cause })
}

function remedyOf(error: SimulationError, isExclusive: boolean): string {
  const { kind } = error
  if (kind === 'occupied' && !isExclusive) return '; give another start with --start-at'
  if (kind === 'unauthorized')
    return '. The key comes from --api-keys-file, UNDERSTUDY_API_KEYS or --data-dir, which must be that of the service'
  if (kind === 'used') return '; --into-used-server adds simulated posts to it all the same'
  const file = trustFiles.get(codeOf(error))
  return file === undefined ? '' : `; NODE_EXTRA_CA_CERTS=${file} in the environment makes it trusted`
}

function flagOf(option: string): string {
  if (option === 'apiKey') return 'the API key'
  // The name of a flag has no unit: `retryTimeoutSeconds` is --retry-timeout.
  return `--${option.replace(/Seconds$/, '').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}
