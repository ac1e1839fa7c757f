/**
 * `understudy models verify`: the whole verification, as lines or as JSON, and an exit code.
 */
import { verifyPackage, type VerificationReport } from '../../model/index.js'
import type { Settings } from '../../server/index.js'
import type { CommandContext } from '../context.js'
import { CommandError, UsageError } from '../failure.js'
import { verdict, verificationText } from './report-text.js'
import { chosenVersion, loadOptions, type Flags } from './settings.js'

export async function verify(
  version: string | undefined,
  settings: Settings,
  flags: Flags,
  context: CommandContext,
): Promise<void> {
  const { provider, tolerance, json } = flags
  if (typeof tolerance === 'number' && !(tolerance > 0 && tolerance <= 1))
    throw new UsageError(`--tolerance must be above 0 and at most 1, not ${tolerance}`)
  if (tolerance !== undefined && provider === undefined)
    throw new UsageError('--tolerance is for the comparison that --provider asks for')
  const report = await verifyPackage({
    ...loadOptions(await chosenVersion(version, settings), settings, context),
    ...(typeof provider === 'string' ? { provider } : {}),
    ...(typeof tolerance === 'number' ? { providerTolerance: tolerance } : {}),
  })
  if (json === true) context.print(`${JSON.stringify(report, null, 2)}\n`)
  else context.print(verificationText(report, context.columns()))
  if (!report.passed) throw new CommandError(verdict(report))
}

/** Verifies and prints the report. Throws a `CommandError` where a check has failed. */
export async function mustBeSound(
  version: string,
  settings: Settings,
  context: CommandContext,
): Promise<VerificationReport> {
  const report = await verifyPackage(loadOptions(version, settings, context))
  context.print(verificationText(report, context.columns()))
  if (!report.passed) throw new CommandError(verdict(report))
  return report
}
