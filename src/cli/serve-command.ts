/**
 * `understudy serve`: reads the settings, makes sure there is an API key, runs the server until a signal.
 */
import type { Command } from 'commander'
import type { Settings } from '../server/index.js'
import { ensureKeptKey } from './api-keys.js'
import { addSettingFlags, stopSignal, type CommandContext } from './context.js'
import { makeDataDirectory } from './data-directory.js'
import { exitCode } from './failure.js'
import { checkPort } from './port-check.js'
import { readSettings } from './read-settings.js'

/** Between the server's own limit and the end of the process; together below the 5 s of decisions.md 40. */
const shutdownGraceMs = 300

export function addServeCommand(program: Command, context: CommandContext): void {
  const command = program.command('serve').description('run the scoring service')
  addSettingFlags(command).action((flags: Record<string, unknown>) => serve(flags, context))
}

async function serve(flags: Record<string, unknown>, context: CommandContext): Promise<void> {
  const { env, directory, remark } = context
  const effective = readSettings({ flags, env, directory })
  for (const warning of effective.warnings) remark(`understudy: warning: ${warning}\n`)
  await checkPort(effective.settings.host, effective.settings.port)
  makeDataDirectory(effective.settings.dataDir, effective.origins.get('dataDir'))
  const settings = withKey(effective.settings, remark)
  // Loaded late, so that a bad setting is told at once and other commands do without sockets and storage.
  const { startServer } = await import('../server/index.js')
  // Listened for from here on: a signal during the start is heard when the start is done.
  const signal = stopSignal()
  void signal.then(() => setTimeout(overdue, settings.shutdownMsMax + shutdownGraceMs, remark).unref())
  const server = await startServer(settings)
  void signal.then(() => server.stop())
  await server.stopped
}

/** The settings with the kept key where none is configured. */
function withKey(settings: Settings, remark: (text: string) => void): Settings {
  if (settings.apiKeys.length > 0) return settings
  const { key, file, made, warnings } = ensureKeptKey(settings.dataDir)
  for (const warning of warnings) remark(`understudy: warning: ${warning}\n`)
  remark(`understudy: no API key is configured; ${made ? 'made one, it is' : 'using the one'} in ${file}\n`)
  return Object.freeze({ ...settings, apiKeys: Object.freeze([key]) })
}

function overdue(remark: (text: string) => void): never {
  remark('understudy: the server did not end in time\n')
  process.exit(exitCode.failure)
}
