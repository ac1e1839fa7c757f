/**
 * `understudy restore`: verifies a backup and copies it to a data directory. Existing files are not overwritten.
 */
import type { Command } from 'commander'
import { resolve } from 'node:path'
import { restore } from '../../store/index.js'
import { addSettingFlags, type CommandContext } from '../context.js'
import { keepFilesPrivate } from '../settings/data-directory.js'
import { CommandError } from '../failure.js'
import { settingsOf, type Flags } from '../settings/read-settings.js'
import { contentsText, verifyFile, type VerifyReport } from './verify-command.js'

export function addRestoreCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('restore <dir>')
    .description('verify a backup and copy it to an empty data directory')
  addSettingFlags(command, ['dataDir']).action((dir: string, flags: Flags) =>
    restoreFrom(dir, flags, context),
  )
}

async function restoreFrom(dir: string, flags: Flags, context: CommandContext): Promise<void> {
  const { directory, print, printMessage } = context
  const { dataDir } = settingsOf(flags, context)
  const backupDir = resolve(directory, dir)
  keepFilesPrivate()
  const restored = await restore(backupDir, dataDir, (path) => verify(path, backupDir, printMessage))
  const report = restored.verified
  if (report.counts !== null)
    print(
      `${dataDir}: ${contentsText(report.counts, report.last_cycle_id, report.bytes)}, verified. A backup has no API keys: ` +
        `\`understudy serve\` generates one unless keys are configured or the file api-key is copied.\n`,
    )
  if (restored.note !== null) printMessage(`${restored.note}\n`)
}

/** The report on an intact copy. Prints the problems of a damaged one and throws. */
async function verify(
  path: string,
  backupDir: string,
  printMessage: (text: string) => void,
): Promise<VerifyReport> {
  const report = await verifyFile(path, { allImages: true, whole: true, hash: null })
  if (report.sound) return report
  for (const problem of report.problems) printMessage(`${problem}\n`)
  throw new CommandError(`the backup ${backupDir} is damaged; nothing is restored`)
}
