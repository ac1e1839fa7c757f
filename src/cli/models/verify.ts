/**
 * `understudy models verify`: runs every check of a package and prints the results as text or JSON. `activate` and
 * `shadow` require the same checks to pass.
 */
import { verifyPackage, type VerificationReport } from '../../model/index.js'
import type { Settings } from '../../server/index.js'
import type { CommandContext } from '../context.js'
import { CommandError, UsageError } from '../failure.js'
import { wrapCells } from '../text-table.js'
import { chosenVersion, loadOptions, modelSettings, type Flags } from './common.js'

/** Width where stdout is not a terminal. */
const cellsDefault = 110
const sentenceCellsMin = 30
const stateCells = 6
const checkCellsMin = 13

export async function verify(
  version: string | undefined,
  flags: Flags,
  context: CommandContext,
): Promise<void> {
  const { provider, tolerance, json } = flags
  const settings = modelSettings(flags, context)
  if (typeof tolerance === 'number' && !(tolerance > 0 && tolerance <= 1))
    throw new UsageError(`--tolerance must be above 0 and at most 1, not ${tolerance}`)
  if (tolerance !== undefined && provider === undefined) throw new UsageError('--tolerance needs --provider')
  const report = await verifyPackage({
    ...loadOptions(await chosenVersion(version, settings), settings, context),
    ...(typeof provider === 'string' ? { provider } : {}),
    ...(typeof tolerance === 'number' ? { providerTolerance: tolerance } : {}),
  })
  finish(report, json === true, context)
}

/** Verifies a package and prints the report. Throws a `CommandError` where a check fails. */
export async function requireVerified(
  version: string,
  settings: Settings,
  context: CommandContext,
): Promise<void> {
  finish(await verifyPackage(loadOptions(version, settings, context)), false, context)
}

function finish(report: VerificationReport, asJson: boolean, { print, columns }: CommandContext): void {
  print(asJson ? `${JSON.stringify(report, null, 2)}\n` : reportText(report, columns() ?? cellsDefault))
  if (report.passed) return
  const failed = report.checks.filter(({ state }) => state === 'fail').map(({ check }) => check)
  throw new CommandError(`${report.version} failed verification: ${failed.join(', ')}`)
}

/** One row per check, and a last line for a package that passes. */
function reportText({ version, kind, passed, provider, checks }: VerificationReport, cells: number): string {
  const checkCells = Math.max(checkCellsMin, ...checks.map(({ check }) => check.length + 2))
  const sentenceCells = Math.max(cells - stateCells - checkCells, sentenceCellsMin)
  const lines = checks.flatMap(({ check, state, sentence }) => {
    const head = state.toUpperCase().padEnd(stateCells) + check.padEnd(checkCells)
    return wrapCells(sentence, sentenceCells).map(
      (piece, index) => `${index === 0 ? head : ' '.repeat(head.length)}${piece}\n`,
    )
  })
  const note = kind === 'transport-test' ? '; it is a transport test, and its scores have no meaning' : ''
  const verdict = `${version} passed verification on ${provider ?? 'no provider'}${note}.\n`
  return `${lines.join('')}\n${passed ? verdict : ''}`
}
