/**
 * `understudy restore`: a backup becomes a data directory, once it is verified. Nothing that is there is overwritten.
 */
import type { Command } from 'commander'
import { resolve } from 'node:path'
import { restore } from '../store/index.js'
import { addSettingFlags, type CommandContext } from './context.js'
import { keepFilesPrivate } from './data-directory.js'
import { CommandError } from './failure.js'
import { readSettings } from './read-settings.js'
import { holdings, verifyApart, type VerifyReport } from './verify-command.js'

export function addRestoreCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('restore <dir>')
    .description('verify a backup and make it the data of an empty data directory')
  addSettingFlags(command, ['dataDir']).action((dir: string, flags: Record<string, unknown>) =>
    restoreFrom(dir, flags, context),
  )
}

async function restoreFrom(
  dir: string,
  flags: Record<string, unknown>,
  context: CommandContext,
): Promise<void> {
  const { env, directory, print, remark } = context
  const { dataDir } = readSettings({ flags, env, directory }).settings
  const backupDir = resolve(directory, dir)
  keepFilesPrivate()
  const restored = await restore(backupDir, dataDir, (path) => verified(path, backupDir, remark))
  const report = restored.verified
  if (report.counts !== null)
    print(
      `${dataDir}: ${holdings(report.counts, report.lastCycleId, report.bytes)}, verified. API keys are not in a backup: ` +
        `where none are configured, \`understudy serve\` makes one, unless the file api-key is copied.\n`,
    )
  if (restored.remark !== null) remark(`${restored.remark}\n`)
}

/** The report on a sound copy; a damaged one is told of and refused. */
async function verified(
  path: string,
  backupDir: string,
  remark: (text: string) => void,
): Promise<VerifyReport> {
  const report = await verifyApart(path, { allImages: true, whole: true })
  if (report.sound) return report
  for (const problem of report.problems) remark(`${problem}\n`)
  throw new CommandError(`the backup ${backupDir} is not sound; nothing is restored`)
}
