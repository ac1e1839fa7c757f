/**
 * `understudy serve`: reads the settings, generates an API key if none is configured, and runs the server until a
 * signal. SIGHUP reloads the settings.
 */
import { setFlagsFromString } from 'node:v8'
import type { Command } from 'commander'
import { areDescriptorsPrivate, endProcess, inBackground } from '../../base/index.js'
import { lockDirectory } from '../../store/index.js'
import { adminStarter, adminWarnings, ensureAdminToken, refuseKeyAsToken } from './admin-listener.js'
import { ensureGeneratedKey } from '../settings/api-keys.js'
import { addSettingFlags, stopSignal, type CommandContext } from '../context.js'
import { createDataDirectory, keepFilesPrivate } from '../settings/data-directory.js'
import { exitCode, UsageError } from '../failure.js'
import { endOnUnexpectedError } from '../last-resort.js'
import { checkPort } from './port-check.js'
import { readSettings, type SettingsSources } from '../settings/read-settings.js'
import { handleSighup } from '../settings/reloading.js'
import {
  adminTokenVariable,
  settingNames,
  settingsTable,
  variableOf,
  type Settings,
} from '../../settings/index.js'

/** Added to the server's own time limit before the process is ended. The sum stays below 5 s. */
const shutdownGraceMs = 300

/**
 * A large cycle allocates 5 MB of buffers, which V8 adds to its heap of 20 MB. By default it collects the whole heap when the
 * sum has grown by some 20 MB, at every third of these cycles. At 200 %, collections of the young generation do it.
 */
const heapGrowingPercent = 200

type PrintMessage = CommandContext['printMessage']

export function addServeCommand(program: Command, context: CommandContext): void {
  const command = program.command('serve').description('run the scoring service')
  addSettingFlags(command).action((flags: Record<string, unknown>) => serve(flags, context))
}

async function serve(flags: Record<string, unknown>, context: CommandContext): Promise<void> {
  const { directory, printMessage } = context
  keepFilesPrivate()
  setFlagsFromString(`--heap-growing-percent=${heapGrowingPercent}`)
  // A closed stderr must not end the service.
  process.stderr.on('error', () => undefined)
  const sources = { flags, env: moveSecrets(context.env), directory }
  const effective = readSettings(sources)
  warn(effective.warnings, printMessage)
  if (!areDescriptorsPrivate())
    warn(['without the compiled addon, model processes inherit the open database'], printMessage)
  warn(adminWarnings(effective.settings), printMessage)
  const { journal, environment } = effective.settings
  if ((journal === undefined) !== (environment === undefined))
    throw new UsageError(
      journal === undefined
        ? 'environment is set but journal is not: set UNDERSTUDY_JOURNAL, or neither'
        : 'journal is set but environment is not: set UNDERSTUDY_ENVIRONMENT or --environment, or neither',
    )
  await checkPort(effective.settings.host, effective.settings.port)
  const { dataDir, adminHost, adminPort } = effective.settings
  const isDefaultAdminPort = effective.origins.get('adminPort') === 'default'
  const isAdminPortTaken = adminPort !== 0 && adminPort === effective.settings.port
  if (isAdminPortTaken && !isDefaultAdminPort)
    throw new UsageError(`port and adminPort must differ; both are ${adminPort}`)
  if (adminPort !== 'off' && !isDefaultAdminPort) await checkPort(adminHost, adminPort, 'admin-')
  createDataDirectory(dataDir, effective.origins.get('dataDir'))
  // Before anything is written to the directory: it may be in use.
  const lock = await lockDirectory(dataDir)
  const settings = withKey(effective.settings, dataDir, printMessage)
  if (isAdminPortTaken)
    printMessage(
      `understudy: no admin listener: its default port ${adminPort} is the port of the service; choose another one with ` +
        '--admin-port, or set it to off\n',
    )
  const token = adminPort === 'off' || isAdminPortTaken ? null : ensureAdminToken(sources.env, settings)
  const startAdmin =
    token === null
      ? undefined
      : adminStarter({ settings, token, isDefaultPort: isDefaultAdminPort, env: sources.env, printMessage })
  // Imported late: an invalid setting is reported immediately, and other commands do not load the server.
  const { startServer } = await import('../../server/index.js')
  // A signal during startup takes effect when startup is complete.
  const sighup = handleSighup()
  const signal = Promise.race([stopSignal(), sighup.terminalGone])
  let current = (): Settings => settings
  let report = (error: unknown): void => {
    printMessage(
      `understudy: unexpected error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
    )
  }
  endOnUnexpectedError((error) => report(error))
  inBackground(
    'shutdown',
    signal.then(() =>
      setTimeout(exitAfterTimeout, current().shutdownMsMax + shutdownGraceMs, printMessage).unref(),
    ),
  )
  const server = await startServer(settings, lock, startAdmin)
  current = () => server.settings
  report = (error) => server.logFatal(error)
  // After a failure the time limit ends the process.
  inBackground(
    'shutdown',
    signal.then(() => server.stop()),
  )
  sighup.begin(() =>
    server.reload(() => {
      const next = reread(sources, dataDir, printMessage)
      if (token !== null) refuseKeyAsToken(token, next)
      return next
    }),
  )
  await server.stopped
}

/** The settings that `serve` would use at startup, with the generated keys of `dataDir`, which only a restart can change. */
function reread(sources: SettingsSources, dataDir: string, printMessage: PrintMessage): Settings {
  const { settings, warnings } = readSettings(sources)
  const complete = withKey(settings, dataDir, printMessage)
  warn(warnings, printMessage)
  return complete
}

/** The settings with the generated keys if none is configured. */
function withKey(settings: Settings, dataDir: string, printMessage: PrintMessage): Settings {
  if (settings.apiKeys.length > 0) return settings
  const { keys, file, created } = ensureGeneratedKey(dataDir, 'api-key')
  printMessage(
    `understudy: no API key is configured; ${created ? 'generated one in' : 'using the keys in'} ${file}\n`,
  )
  return Object.freeze({ ...settings, apiKeys: Object.freeze(keys) })
}

/** Copies the environment and deletes the secrets from the original, so that model processes do not inherit them. */
function moveSecrets(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const copy = { ...env }
  for (const name of settingNames)
    if (settingsTable[name].secret === true) Reflect.deleteProperty(env, variableOf(name))
  Reflect.deleteProperty(env, adminTokenVariable)
  return copy
}

function warn(warnings: readonly string[], printMessage: PrintMessage): void {
  for (const warning of warnings) printMessage(`understudy: warning: ${warning}\n`)
}

function exitAfterTimeout(printMessage: PrintMessage): never {
  printMessage('understudy: the server did not stop in time\n')
  return endProcess(exitCode.failure)
}
