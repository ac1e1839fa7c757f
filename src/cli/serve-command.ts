/**
 * `understudy serve`: reads the settings, makes sure there is an API key, runs the server until a signal. Reads the
 * settings again at SIGHUP.
 */
import type { Command } from 'commander'
import type { Settings } from '../server/index.js'
import { lockDirectory } from '../store/index.js'
import { ensureKeptKey } from './api-keys.js'
import { addSettingFlags, stopSignal, type CommandContext } from './context.js'
import { dataDirectoryWarnings, keepFilesPrivate, makeDataDirectory } from './data-directory.js'
import { exitCode } from './failure.js'
import { checkPort } from './port-check.js'
import { readSettings, type SettingsSources } from './read-settings.js'
import { heedHangUps } from './reloading.js'
import { fileKeyOf, serverSettingNames, settingNames, settingsTable, variableOf } from './settings-table.js'

/** Between the server's own limit and the end of the process; together below the 5 s of decisions.md 40. */
const shutdownGraceMs = 300

type Remark = CommandContext['remark']

export function addServeCommand(program: Command, context: CommandContext): void {
  const command = program.command('serve').description('run the scoring service')
  addSettingFlags(command).action((flags: Record<string, unknown>) => serve(flags, context))
}

async function serve(flags: Record<string, unknown>, context: CommandContext): Promise<void> {
  const { directory, remark } = context
  keepFilesPrivate()
  // A remark that nobody can read must not end the service.
  process.stderr.on('error', () => undefined)
  const sources = { flags, env: withdrawSecrets(context.env), directory }
  const effective = readSettings(sources)
  warn(effective.warnings, remark)
  await checkPort(effective.settings.host, effective.settings.port)
  const { dataDir } = effective.settings
  makeDataDirectory(dataDir, effective.origins.get('dataDir'))
  warn(dataDirectoryWarnings(dataDir), remark)
  // Before anything is written to the directory: it may be in use.
  const lock = await lockDirectory(dataDir)
  const settings = withKey(effective.settings, dataDir, remark)
  // Loaded late, so that a bad setting is told at once and other commands do without sockets and storage.
  const { startServer } = await import('../server/index.js')
  // Listened for from here on: a signal during the start is heard when the start is done.
  const hangUps = heedHangUps()
  const signal = Promise.race([stopSignal(), hangUps.terminalGone])
  let inForce = (): Settings => settings
  void signal.then(() => setTimeout(overdue, inForce().shutdownMsMax + shutdownGraceMs, remark).unref())
  const server = await startServer(settings, lock)
  inForce = () => server.settings
  void signal.then(() => server.stop())
  hangUps.begin(() =>
    server.reload({
      read: () => readAgain(sources, dataDir, remark),
      keys: serverSettingNames,
      nameOf: fileKeyOf,
      needsRestart: (name) => settingsTable[name].needsRestart === true,
    }),
  )
  await server.stopped
}

/** The settings as a start would find them, for a server that stays in `dataDir`. */
function readAgain(sources: SettingsSources, dataDir: string, remark: Remark): Settings {
  const { settings, warnings } = readSettings(sources)
  const complete = withKey(settings, dataDir, remark)
  warn(warnings, remark)
  return complete
}

/** The settings with the kept keys where none is configured. */
function withKey(settings: Settings, dataDir: string, remark: Remark): Settings {
  if (settings.apiKeys.length > 0) return settings
  const { keys, file, made, warnings } = ensureKeptKey(dataDir)
  warn(warnings, remark)
  remark(`understudy: no API key is configured; ${made ? 'made one, it is' : 'using the one'} in ${file}\n`)
  return Object.freeze({ ...settings, apiKeys: Object.freeze(keys) })
}

/** A copy of the environment. Secrets are gone from the original, so that model processes do not inherit them. */
function withdrawSecrets(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const copy = { ...env }
  for (const name of settingNames)
    if (settingsTable[name].secret === true) Reflect.deleteProperty(env, variableOf(name))
  return copy
}

function warn(warnings: readonly string[], remark: Remark): void {
  for (const warning of warnings) remark(`understudy: warning: ${warning}\n`)
}

function overdue(remark: Remark): never {
  remark('understudy: the server did not end in time\n')
  process.exit(exitCode.failure)
}
