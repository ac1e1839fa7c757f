/**
 * `understudy models verify`: runs every check of a package and prints the results as text or JSON. `activate` and
 * `shadow` require the same checks to pass.
 */
import type { CheckLine, VerificationReport } from '../../contract/index.js'
import { verifyPackage, type VerifyOptions } from '../../model/index.js'
import type { CommandContext } from '../context.js'
import { CommandError, UsageError } from '../failure.js'
import { settingsOf, type Flags } from '../settings/read-settings.js'
import { labelledLines } from '../text/text-table.js'
import { chosenVersion, loadOptions } from './common.js'

const stateCells = 6
const checkCellsMin = 13

export async function verify(
  version: string | undefined,
  flags: Flags,
  context: CommandContext,
): Promise<void> {
  const { provider, tolerance, json } = flags
  const settings = settingsOf(flags, context)
  if (typeof tolerance === 'number' && !(tolerance > 0 && tolerance <= 1))
    throw new UsageError(`--tolerance must be above 0 and at most 1, not ${tolerance}`)
  if (tolerance !== undefined && provider === undefined) throw new UsageError('--tolerance needs --provider')
  const options = {
    ...loadOptions(await chosenVersion(version, settings), settings, context),
    ...(typeof provider === 'string' ? { provider } : {}),
    ...(typeof tolerance === 'number' ? { providerTolerance: tolerance } : {}),
  }
  if (json !== true) {
    await requireVerified(options, context)
    return
  }
  const report = await verifyPackage(options)
  context.print(`${JSON.stringify(report, null, 2)}\n`)
  throwIfFailed(report)
}

/** Verifies a package, and prints each check when it has finished. Throws a `CommandError` if one fails. */
export async function requireVerified(
  options: VerifyOptions,
  { print, columns }: CommandContext,
): Promise<void> {
  const cells = columns()
  const report = await verifyPackage({ ...options, onCheck: (line) => print(lineText(line, cells)) })
  throwIfFailed(report)
  const { version, provider, kind } = report
  const note = kind === 'transport-test' ? '; it is a transport test, and its scores have no meaning' : ''
  print(`\n${version} passed verification on ${provider ?? 'no provider'}${note}.\n`)
}

function throwIfFailed({ version, passed, checks }: VerificationReport): void {
  if (passed) return
  const failed = checks.filter(({ state }) => state === 'fail').map(({ check }) => check)
  throw new CommandError(`${version} failed verification: ${failed.join(', ')}`)
}

function lineText({ check, state, sentence }: CheckLine, cells: number | undefined): string {
  const head = state.toUpperCase().padEnd(stateCells) + `${check}  `.padEnd(checkCellsMin)
  return labelledLines(head, sentence, cells)
}
