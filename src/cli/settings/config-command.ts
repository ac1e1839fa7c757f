/**
 * `understudy config`: prints the effective settings and the source of each. Starts and creates nothing.
 */
import type { Command } from 'commander'
import { join } from 'node:path'
import { findGeneratedKeys } from './api-keys.js'
import { addSettingFlags, printResult, type CommandContext } from '../context.js'
import { readSettings, type EffectiveSettings, type Flags } from './read-settings.js'
import { reportSettings, settingsAsText } from './settings-report.js'

export function addConfigCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('config')
    .description('print the effective settings and the source of each; keys as fingerprints only')
    .option('--json', 'print JSON')
  addSettingFlags(command).action((flags: Flags) => {
    printSettings(flags, context)
  })
}

function printSettings(flags: Flags, context: CommandContext): void {
  const { env, directory, printMessage, columns } = context
  const effective = withGeneratedKeys(readSettings({ flags, env, directory }))
  for (const warning of effective.warnings) printMessage(`understudy: warning: ${warning}\n`)
  const report = reportSettings(effective)
  printResult(context, flags, report, () => settingsAsText(report, columns()))
}

/** Without a configured key, `serve` uses the one that it generated before. */
function withGeneratedKeys(effective: EffectiveSettings): EffectiveSettings {
  const { settings, origins } = effective
  if (settings.apiKeys.length > 0) return effective
  const apiKeys = findGeneratedKeys(settings.dataDir, 'api-key')
  if (apiKeys.length === 0) return effective
  return {
    ...effective,
    settings: { ...settings, apiKeys },
    origins: new Map([...origins, ['apiKeys', join(settings.dataDir, 'api-key')]]),
  }
}
