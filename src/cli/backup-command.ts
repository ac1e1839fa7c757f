/**
 * `understudy backup`: copies a consistent snapshot of the data directory, with its server running or not.
 */
import type { Command } from 'commander'
import { resolve } from 'node:path'
import { backUp } from '../store/index.js'
import { addSettingFlags, type CommandContext } from './context.js'
import { keepFilesPrivate } from './data-directory.js'
import { readSettings } from './read-settings.js'
import { shellWord } from './shell-word.js'
import { contentsText } from './verify-command.js'

export function addBackupCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('backup <dir>')
    .description('copy the data to a new directory, with the server running or not; API keys are not copied')
    .option('--json', 'print JSON')
  addSettingFlags(command, ['dataDir']).action((dir: string, flags: Record<string, unknown>) =>
    backup(dir, flags, context),
  )
}

async function backup(dir: string, flags: Record<string, unknown>, context: CommandContext): Promise<void> {
  const { env, directory, print } = context
  const { dataDir } = readSettings({ flags, env, directory }).settings
  const target = resolve(directory, dir)
  keepFilesPrivate()
  const startedAt = performance.now()
  const { counts, lastCycleId, bytes } = await backUp(dataDir, target)
  const seconds = Math.round(performance.now() - startedAt) / 1000
  print(
    flags['json'] === true
      ? `${JSON.stringify({ directory: target, counts, lastCycleId, bytes, seconds }, null, 2)}\n`
      : `${target}: ${contentsText(counts, lastCycleId, bytes)}, ${seconds} s. It has no API keys. ` +
          `To verify it, run \`understudy verify --data-dir ${shellWord(target)}\`.\n`,
  )
}
