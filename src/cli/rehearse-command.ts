/**
 * `understudy rehearse`: the simulated client against a server that runs. Fails at the first breach.
 */
import type { Command } from 'commander'
import type { RehearsalOptions, SimulationOptions } from '../rehearsal/index.js'
import { findKeptKeys } from './api-keys.js'
import { addSettingFlags, numberArgument, stopSignal, type CommandContext } from './context.js'
import { CommandError, UsageError } from './failure.js'
import { readSettings } from './read-settings.js'
import { describeReport, runRehearsal } from './rehearsal-run.js'

/** Flags that say what is simulated; names as in `RehearsalOptions`. */
type SimulationFlags = Pick<RehearsalOptions, 'hours' | 'postsPerDay' | 'galleries' | 'speed'> & {
  readonly seed?: string
}

interface RehearseFlags extends SimulationFlags {
  readonly url: string
  readonly faults: boolean
  readonly startAt?: string
  readonly patience?: number
  readonly json?: true
}

export function addRehearseCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('rehearse')
    .description(
      'Hold a simulated rehearsal against a server that runs, and check every answer. The API key is the first of ' +
        'UNDERSTUDY_API_KEYS or of the file, else the one that serve keeps in its data directory.',
    )
    .summary('hold a simulated rehearsal against a server that runs, and check every answer')
    .option('--url <url>', 'base address of the server', 'http://127.0.0.1:8080')
  addSettingFlags(command, ['dataDir', 'apiKeysFile'])
  addSimulationFlags(command)
    .option(
      '--start-at <time>',
      'where simulated time begins, RFC 3339 (default: the latest stretch of which the server holds no cycle yet, or ' +
        'where the same rehearsal was cut short)',
    )
    .option('--patience <seconds>', 'how long the server may be away (default: 60)', numberArgument)
    .option('--no-faults', 'without lost answers, twin calls and client restarts')
    .option('--json', 'the report as JSON')
    .action((flags: RehearseFlags) => rehearseAgainst(flags, context))
}

/** Flags that `demo` has too. */
export function addSimulationFlags(command: Command): Command {
  return command
    .option('--hours <number>', 'simulated hours (default: 24)', numberArgument)
    .option('--posts-per-day <number>', 'posts that enter in 24 hours (default: 2200)', numberArgument)
    .option('--galleries <number>', 'galleries from which they come (default: 8)', numberArgument)
    .option('--seed <seed>', 'same seed, same posts (default: 1)')
    .option('--speed <factor>', 'simulated seconds per second (default: as fast as it goes)', numberArgument)
}

/** The flags as options of a rehearsal. */
export function simulationOf({
  hours,
  postsPerDay,
  galleries,
  seed,
  speed,
}: SimulationFlags): SimulationOptions {
  return {
    ...(hours === undefined ? {} : { hours }),
    ...(postsPerDay === undefined ? {} : { postsPerDay }),
    ...(galleries === undefined ? {} : { galleries }),
    ...(seed === undefined ? {} : { seed: /^\d{1,15}$/.test(seed) ? Number(seed) : seed }),
    ...(speed === undefined ? {} : { speed }),
  }
}

async function rehearseAgainst(flags: RehearseFlags, context: CommandContext): Promise<void> {
  const { url, faults, startAt, patience } = flags
  const stop = new AbortController()
  void stopSignal().then((signal) => stop.abort(new CommandError(`stopped by ${signal}`)))
  const { report } = await runRehearsal(
    {
      ...simulationOf(flags),
      url,
      apiKey: configuredKey(flags, context),
      faults,
      signal: stop.signal,
      ...(startAt === undefined ? {} : { startAt }),
      ...(patience === undefined ? {} : { patienceS: patience }),
    },
    context.display,
  )
  context.print(
    flags.json === true ? `${JSON.stringify(report, null, 2)}\n` : describeReport(report, context.columns()),
  )
}

/** The first key that a server with the same settings would accept. */
function configuredKey(flags: RehearseFlags, { env, directory }: CommandContext): string {
  const { settings } = readSettings({ flags: { ...flags }, env, directory })
  const [key] = settings.apiKeys.length > 0 ? settings.apiKeys : findKeptKeys(settings.dataDir)
  if (key === undefined) {
    throw new UsageError(
      `no API key: set UNDERSTUDY_API_KEYS or --api-keys-file, or give the --data-dir of a server that made one`,
    )
  }
  return key
}
