/**
 * `understudy simulate`: runs the simulated client against a server. Fails at the first contract violation.
 */
import type { Command } from 'commander'
import { inBackground } from '../../base/index.js'
import { localUrl, type Settings } from '../../settings/index.js'
import type { WorkloadOptions } from '../../simulator/index.js'
import { findGeneratedKeys } from '../settings/api-keys.js'
import { addSettingFlags, numberArgument, printResult, stopSignal, type CommandContext } from '../context.js'
import { CommandError, UsageError } from '../failure.js'
import { settingsOf } from '../settings/read-settings.js'
import { describeReport } from './simulation-report.js'
import { runSimulation } from './simulation-run.js'

/** Flags of the workload, which `demo` has too. */
export interface WorkloadFlags {
  readonly hours?: number
  readonly postsPerDay: number
  readonly speed?: number
  readonly seed?: string
}

interface SimulateFlags extends WorkloadFlags {
  readonly url?: string
  readonly faults: boolean
  readonly startAt?: string
  readonly retryTimeout?: number
  readonly intoUsedServer?: true
  readonly json?: true
}

export function addSimulateCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('simulate')
    .description(
      'Run the simulated client against a server and check every response. The API key is the first of ' +
        'UNDERSTUDY_API_KEYS or of the keys file, otherwise the one in the data directory that serve generated.',
    )
    .summary('run the simulated client against a server and check every response')
    .option('--url <url>', 'base URL of the server (default: from host and port)')
  addSettingFlags(command, ['dataDir', 'apiKeysFile'])
  addWorkloadFlags(command)
    .option(
      '--start-at <time>',
      'start of the simulated time, RFC 3339 (default: the latest period in which the server has no cycles)',
    )
    .option('--retry-timeout <seconds>', 'time limit of the retries of a call (default: 60)', numberArgument)
    .option('--into-used-server', 'run although the server holds posts or cycles of other clients')
    .option('--no-faults', 'inject no lost responses, duplicate calls or client restarts')
    .option('--json', 'print the report as JSON')
    .action((flags: SimulateFlags) => runAgainstServer(flags, context))
}

/** `postsPerDay`: the command's default. */
export function addWorkloadFlags(command: Command, postsPerDay = 2200): Command {
  return command
    .option('--hours <number>', 'simulated hours (default: 24)', numberArgument)
    .option('--posts-per-day <number>', 'posts that enter in 24 hours', numberArgument, postsPerDay)
    .option('--seed <seed>', 'the same seed gives the same posts (default: 1)')
    .option('--speed <factor>', 'simulated seconds per second (default: as fast as possible)', numberArgument)
}

export function workloadOf({ hours, postsPerDay, seed, speed }: WorkloadFlags): WorkloadOptions {
  const seedValue = seed !== undefined && /^\d{1,15}$/.test(seed) ? Number(seed) : seed
  return { hours, postsPerDay, seed: seedValue, speed }
}

async function runAgainstServer(flags: SimulateFlags, context: CommandContext): Promise<void> {
  const { faults, startAt, retryTimeout, intoUsedServer } = flags
  const settings = settingsOf({ ...flags }, context)
  const server = { url: flags.url ?? urlOf(settings), apiKey: configuredKey(settings) }
  const stop = new AbortController()
  inBackground(
    'shutdown',
    stopSignal().then((signal) => stop.abort(new CommandError(`stopped by ${signal}`))),
  )
  inBackground(
    'shutdown',
    context.readerGone.then(() => stop.abort(new CommandError('stopped: its output was closed'))),
  )
  const report = await runSimulation(
    {
      ...workloadOf(flags),
      ...server,
      faults,
      intoUsedServer: intoUsedServer === true,
      signal: stop.signal,
      startAt,
      retryTimeoutSeconds: retryTimeout,
    },
    context.display,
  )
  printResult(context, flags, report, () => describeReport(report, context.columns()))
}

/** The server with the same settings on this machine. */
function urlOf({ host, port, tlsCertFile }: Settings): string {
  if (port === 0) throw new UsageError('port is 0: use --url with the address printed at startup')
  return localUrl(host, port, tlsCertFile !== undefined)
}

/** The first key that a server with the same settings accepts. */
function configuredKey({ apiKeys, dataDir }: Settings): string {
  const [key] = apiKeys.length > 0 ? apiKeys : findGeneratedKeys(dataDir, 'api-key')
  if (key === undefined)
    throw new UsageError(
      'no API key: set UNDERSTUDY_API_KEYS or --api-keys-file, or pass the --data-dir of a server that generated one',
    )
  return key
}
