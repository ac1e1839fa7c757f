/**
 * `understudy upgrade`: brings a data directory of an older program to the layout of this one, as `serve` does when it starts;
 * with --check it only says what that would do.
 */
import type { Command } from 'commander'
import { sizeText } from '../../base/index.js'
import { lockDirectory, planUpgrade, upgradeDirectory, type UpgradePlan } from '../../store/index.js'
import { addSettingFlags, printResult, type CommandContext } from '../context.js'
import { CommandError } from '../failure.js'
import { keepFilesPrivate } from '../settings/data-directory.js'
import { settingsOf, type Flags } from '../settings/read-settings.js'
import { requireDirectory } from './open-store.js'

export function addUpgradeCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('upgrade')
    .description('bring the data directory of an older program to the layout of this one, as serve does')
    .option('--check', 'only say what would be done; the server may be running')
    .option('--json', 'print JSON')
  addSettingFlags(command, ['dataDir']).action((flags: Flags) => upgrade(flags, context))
}

async function upgrade(flags: Flags, context: CommandContext): Promise<void> {
  const { dataDir } = settingsOf(flags, context)
  requireDirectory(dataDir)
  keepFilesPrivate()
  if (flags['check'] === true) {
    const plan = await planUpgrade(dataDir)
    printResult(context, flags, { needed: plan !== null, ...plan }, () => planText(dataDir, plan))
    if (plan !== null && plan.bytesFree < plan.bytesNeeded)
      throw new CommandError(`the disk of ${plan.path} has no room for the upgrade`)
    return
  }
  const lock = await lockDirectory(dataDir)
  try {
    const facts = await upgradeDirectory(dataDir, (event) => {
      if (event.kind === 'start') context.printMessage(planText(dataDir, event.plan))
      if (event.kind === 'progress') context.printMessage(`${event.records} records\n`)
    })
    printResult(context, flags, { upgraded: facts !== null, ...facts }, () =>
      facts === null
        ? planText(dataDir, null)
        : `${facts.records} records were upgraded. Until the first cycle is stored, the old file is kept as ${facts.keptPath}\n`,
    )
  } finally {
    await lock.release()
  }
}

function planText(dataDir: string, plan: UpgradePlan | null): string {
  if (plan === null) return `${dataDir} needs no upgrade\n`
  const { path, from, to, changes, bytesNeeded, bytesFree } = plan
  const lines = changes.map((change, index) => `  ${from + index + 1}: ${change}\n`)
  return (
    `${path}: from schema version ${from} to ${to}. It needs ${sizeText(bytesNeeded)} on the disk; ${sizeText(bytesFree)} are free\n` +
    lines.join('')
  )
}
