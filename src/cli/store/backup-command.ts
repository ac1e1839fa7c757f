/**
 * `understudy backup`: copies a consistent snapshot of the data directory. The server may be running.
 */
import type { Command } from 'commander'
import { resolve } from 'node:path'
import { backUp } from '../../store/index.js'
import { addSettingFlags, printResult, type CommandContext } from '../context.js'
import { keepFilesPrivate } from '../settings/data-directory.js'
import { settingsOf, type Flags } from '../settings/read-settings.js'
import { shellWord } from '../../settings/index.js'
import { contentsText } from './verify-command.js'

export function addBackupCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('backup <dir>')
    .description('copy the data, without API keys, to a new directory; the server may be running')
    .option('--json', 'print JSON')
  addSettingFlags(command, ['dataDir']).action((dir: string, flags: Flags) => backup(dir, flags, context))
}

async function backup(dir: string, flags: Flags, context: CommandContext): Promise<void> {
  const { dataDir } = settingsOf(flags, context)
  const target = resolve(context.directory, dir)
  keepFilesPrivate()
  const startedAt = performance.now()
  const { counts, lastCycleId, lastHash, bytes } = await backUp(dataDir, target)
  const seconds = Math.round(performance.now() - startedAt) / 1000
  const result = {
    directory: target,
    counts,
    last_cycle_id: lastCycleId,
    last_hash: lastHash,
    bytes,
    seconds,
  }
  printResult(
    context,
    flags,
    result,
    () =>
      `${target}: ${contentsText(counts, lastCycleId, bytes)}, ${seconds} s. It has no API keys. ` +
      (lastHash === null ? '' : `Hash of cycle ${lastCycleId}: ${lastHash}. `) +
      `To verify it, run \`understudy verify --data-dir ${shellWord(target)}\`.\n`,
  )
}
