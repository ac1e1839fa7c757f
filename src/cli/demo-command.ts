/**
 * `understudy demo`: a server of its own with fresh data, a simulated day against it, the best posts; then the
 * server stays up for a look around. The server is a child process, so that the client's work is not in its times.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import { ensureKeptKey } from './api-keys.js'
import { numberArgument, stopSignal, type CommandContext } from './context.js'
import { CommandError, messageOf, UsageError } from './failure.js'
import { checkPort } from './port-check.js'
import type { FinishedRehearsal } from './rehearsal-run.js'
import { checkSimulation, describeReport, runRehearsal } from './rehearsal-run.js'
import { addSimulationFlags, simulationOf } from './rehearse-command.js'
import { variableOf, type SettingName } from './settings-table.js'

const host = '127.0.0.1'
const portMax = 65_535
const askEveryMs = 50
const program = fileURLToPath(new URL('./main.js', import.meta.url))

/** Settings that the demo decides, whatever the environment says. */
const ownSettings: readonly SettingName[] = [
  'host',
  'port',
  'dataDir',
  'apiKeys',
  'apiKeysFile',
  'tlsCertFile',
  'tlsKeyFile',
  'logLevel',
]

type DemoFlags = Parameters<typeof simulationOf>[0] & { readonly port: number }

export function addDemoCommand(commands: Command, context: CommandContext): void {
  const command = commands
    .command('demo')
    .description('a simulated day against a server of its own with fresh data, then the best posts')
    .option('--port <number>', 'port of the server; 0 takes a free one', numberArgument, 8080)
  addSimulationFlags(command).action((flags: DemoFlags) => demo(flags, context))
}

async function demo(flags: DemoFlags, context: CommandContext): Promise<void> {
  if (!Number.isInteger(flags.port) || flags.port < 0 || flags.port > portMax) {
    throw new UsageError(`--port must be a whole number from 0 to ${portMax}, not ${flags.port}`)
  }
  const simulation = simulationOf(flags)
  // Flags and port are checked before the data of the last demo goes.
  checkSimulation(simulation)
  // The server is told the very port, since the client must know it.
  const port = await checkPort(host, flags.port)
  // By port, so that no demo takes away the data of another one that runs.
  const dataDir = join(context.directory, 'data', 'demo', String(port))
  rmSync(dataDir, { recursive: true, force: true })
  const { keys, file } = ensureKeptKey(dataDir)
  const [key = ''] = keys
  context.remark(`A server with fresh data in ${dataDir}, and a client that simulates its day:\n\n`)
  const server = startServer({ port, dataDir, keyFile: file }, context.env)
  const url = `http://${host}:${port}`
  const stop = new AbortController()
  const stopped = stopSignal().then(() => stop.abort(new Interrupted()))
  void server.ended.then((how) => stop.abort(new CommandError(`the server of the demo ended ${how}`)))
  try {
    await untilUp(url, stop.signal)
    const options = { ...simulation, url, apiKey: key, expectAlone: true, signal: stop.signal }
    const finished = await runRehearsal(options, context.display)
    context.print(closingWords(finished, url, key, context.columns()))
    await Promise.race([stopped, server.ended])
    stop.signal.throwIfAborted()
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error
  } finally {
    server.process.kill('SIGTERM')
    await server.ended
  }
  context.remark(`\nunderstudy: stopped; data kept in ${dataDir} until the next demo on port ${port}\n`)
}

/** Ctrl-C: the way in which every demo ends. */
class Interrupted extends Error {}

interface DemoServer {
  readonly process: ChildProcess
  /** Resolves with how it ended. */
  readonly ended: Promise<string>
}

interface ServerPlace {
  readonly port: number
  readonly dataDir: string
  readonly keyFile: string
}

function startServer({ port, dataDir, keyFile }: ServerPlace, env: NodeJS.ProcessEnv): DemoServer {
  const decided = new Set(['UNDERSTUDY_CONFIG', ...ownSettings.map(variableOf)])
  const flags = ['--host', host, '--port', String(port), '--data-dir', dataDir]
  const process_ = spawn(
    process.execPath,
    [program, 'serve', ...flags, '--api-keys-file', keyFile, '--log-level', 'warn'],
    {
      env: Object.fromEntries(Object.entries(env).filter(([name]) => !decided.has(name))),
      stdio: ['ignore', 'inherit', 'inherit'],
    },
  )
  const ended = new Promise<string>((resolve) => {
    process_.on('error', (error) => resolve(`: ${messageOf(error)}`))
    process_.on('exit', (code, signal) => resolve(signal === null ? `with code ${code}` : `by ${signal}`))
  })
  return { process: process_, ended }
}

/** Resolves when the server answers. */
async function untilUp(url: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    const health = await fetch(`${url}/v1/health`, { signal }).catch(() => null)
    signal.throwIfAborted()
    if (health?.ok === true) return
    await sleep(askEveryMs, undefined, { signal }).catch(() => undefined)
  }
}

function closingWords(
  { report, lastCycleId }: FinishedRehearsal,
  url: string,
  key: string,
  columns: number | undefined,
): string {
  // An answer has hundreds of kilobytes on one line.
  return `
${describeReport(report, columns)}
The server stays up at ${url} with the API key ${key} until Ctrl-C. To look around:

  curl -s ${url}/v1/health; echo
  curl -s -H 'Authorization: ${key}' ${url}/v1/scores/${lastCycleId} | head -c 600; echo

`
}
