/**
 * `understudy demo`: starts a server with an empty data directory, simulates a day against it, and prints what the model would
 * have picked. `demo-1`, which was trained on simulated posts, is the active model, and the transport test is its shadow. The
 * server keeps running until Ctrl-C. It is a child process, so its timings exclude the client's work.
 */
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import { endWithParent, inBackground, nodeFlags, startProcess, type ChildProcess } from '../../base/index.js'
import { cycleIdOf } from '../../contract/index.js'
import { evaluate, notablePosts } from '../../history/index.js'
import { ensureGeneratedKey } from '../settings/api-keys.js'
import { integerArgument, stopSignal, type CommandContext } from '../context.js'
import { CommandError, messageLine } from '../failure.js'
import { checkPort } from '../serve/port-check.js'
import { withStore } from '../store/open-store.js'
import { demoScreen, type Demo } from './demo-screen.js'
import { paragraphs } from '../text/data-table.js'
import { simulationFacts } from './simulation-report.js'
import { checkWorkload, runSimulation } from './simulation-run.js'
import { addWorkloadFlags, workloadOf, type WorkloadFlags } from './simulate-command.js'
import { adminTokenVariable, defaultTextOf, variableOf, type SettingName } from '../../settings/index.js'

const host = '127.0.0.1'
const healthCheckEveryMs = 50
/** Enough for a day to show how the model compares with the counters. */
const postsPerDayDefault = 4000
/** Posts of each kind on the last screen. */
const notablePostsMax = 5
const logName = 'server.log'
const program = fileURLToPath(new URL('../main.js', import.meta.url))

/** Settings that the demo ignores, even if the environment has them. Its flags set the others that it needs. */
const excludedSettings: readonly SettingName[] = [
  'apiKeys',
  'tlsCertFile',
  'tlsKeyFile',
  'journal',
  'environment',
]

type DemoFlags = WorkloadFlags & { readonly port: number; readonly adminPort?: number }

export function addDemoCommand(commands: Command, context: CommandContext): void {
  const command = commands
    .command('demo')
    .description(
      'start a server with an empty data directory, simulate a day, print what the model would have picked',
    )
    .option('--port <number>', 'port of the server; 0 selects a free one', integerArgument(0, 65_535), 8080)
    .option(
      '--admin-port <number>',
      `port of the operators' page (default: ${defaultTextOf('adminPort')}, or a free one if that is in use)`,
      integerArgument(0, 65_535),
    )
  addWorkloadFlags(command, postsPerDayDefault).action((flags: DemoFlags) => demo(flags, context))
}

async function demo(flags: DemoFlags, context: CommandContext): Promise<void> {
  const workload = workloadOf(flags)
  // The workload and the port are checked before the data of the last demo is deleted.
  checkWorkload(workload)
  // The port is chosen here, because the client must know it.
  const port = await checkPort(host, flags.port)
  // One directory per port, so that a demo does not delete the data of another one that is running.
  const dataDir = join(context.directory, 'data', 'demo', String(port))
  rmSync(dataDir, { recursive: true, force: true })
  const { keys, file } = ensureGeneratedKey(dataDir, 'api-key')
  const [key = ''] = keys
  const adminPort = await adminPortOf(
    flags.adminPort?.toString() ?? context.env[variableOf('adminPort')],
    port,
  )
  const page = adminPort === 'off' ? null : pageAddress(adminPort, dataDir)
  const paragraph = paragraphs(context.columns())
  context.printMessage(
    [
      `Starting a server with an empty data directory, ${dataDir}, and a client that simulates ${flags.hours === undefined ? 'a day' : `${flags.hours} h`}.`,
      `${activeVersion}, trained on simulated posts, scores the posts. ${shadowVersion}, whose weights are pseudo-random, is its shadow.`,
    ]
      .map(paragraph)
      .join('') + '\n',
  )
  const modelsDir = makeModels(dataDir)
  const server = startServer({ port, adminPort, dataDir, modelsDir, keyFile: file }, context.env)
  const url = `http://${host}:${port}`
  const stop = new AbortController()
  const stopped = Promise.race([stopSignal(), context.readerGone]).then(() => stop.abort(new StoppedByUser()))
  inBackground(
    'shutdown',
    server.ended.then((how) =>
      stop.abort(new CommandError(`the demo server exited ${how}: ${lastLine(dataDir)}`)),
    ),
  )
  try {
    await untilReady(url, stop.signal)
    if (page !== null) context.printMessage(`understudy: admin: ${page}\n`)
    const options = { ...workload, url, apiKey: key, exclusive: true, keepPosts: true, signal: stop.signal }
    const report = await runSimulation(options, context.display)
    context.print(`\n${simulationFacts(report, context.columns())}\n`)
    const shown: Demo = {
      page,
      url,
      key,
      dataDir: relative(context.directory, dataDir),
      modelsDir: relative(context.directory, modelsDir),
      lastCycleId: cycleIdOf(report.endAtMs),
      best: report.top[0],
      ...(await withStore(dataDir, async (store) => ({
        report: evaluate(store),
        posts: await notablePosts(store, notablePostsMax),
      }))),
    }
    context.print(demoScreen(shown, context.columns()))
    await Promise.race([stopped, server.ended])
    stop.signal.throwIfAborted()
  } catch (error) {
    if (!(error instanceof StoppedByUser)) throw error
  } finally {
    server.process.kill('SIGTERM')
    await server.ended
  }
  context.printMessage(`\nunderstudy: stopped; data kept in ${dataDir} until the next demo on port ${port}\n`)
}

/** Ctrl-C, which ends every demo, or the end of the program that reads its output. */
class StoppedByUser extends Error {}

interface DemoServer {
  readonly process: ChildProcess
  /** Resolves with the reason of the exit. */
  readonly ended: Promise<string>
}

interface ServerOptions {
  readonly port: number
  readonly adminPort: number | 'off'
  readonly dataDir: string
  readonly modelsDir: string
  readonly keyFile: string
}

function startServer(
  { port, adminPort, dataDir, modelsDir, keyFile }: ServerOptions,
  env: NodeJS.ProcessEnv,
): DemoServer {
  const removed = new Set(['UNDERSTUDY_CONFIG', adminTokenVariable, ...excludedSettings.map(variableOf)])
  const flags = {
    host,
    port,
    'admin-host': host,
    'admin-port': adminPort,
    'data-dir': dataDir,
    'models-dir': modelsDir,
    'api-keys-file': keyFile,
    'log-level': 'warn',
  }
  const log = openSync(join(dataDir, logName), 'w')
  const child = startProcess(
    process.execPath,
    [
      ...nodeFlags,
      ...endWithParent,
      program,
      'serve',
      ...Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)]),
    ],
    {
      env: Object.fromEntries(Object.entries(env).filter(([name]) => !removed.has(name))),
      // The log is JSON, and the terminal is for the user.
      stdio: ['pipe', log, log],
    },
  )
  closeSync(log)
  const ended = new Promise<string>((resolve) => {
    child.on('error', (error) => resolve(`: ${messageLine(error)}`))
    child.on('exit', (code, signal) => resolve(signal === null ? `with code ${code}` : `by ${signal}`))
  })
  return { process: child, ended }
}

const packages = fileURLToPath(new URL('../../../models', import.meta.url))
const [activeVersion, shadowVersion] = ['demo-1', 'transport-test-1']

/** A separate models directory, so that the demo changes no other. Returns its path. */
function makeModels(dataDir: string): string {
  const modelsDir = join(dataDir, 'models')
  mkdirSync(modelsDir)
  for (const version of [activeVersion, shadowVersion])
    symlinkSync(join(packages, version), join(modelsDir, version))
  writeFileSync(join(modelsDir, 'ACTIVE'), `${activeVersion}\n`)
  writeFileSync(join(modelsDir, 'SHADOW'), `${shadowVersion}\n`)
  return modelsDir
}

/** The port of the page: the given one, else the default or, if that is in use, a free one. */
async function adminPortOf(given: string | undefined, port: number): Promise<number | 'off'> {
  if (given === 'off') return 'off'
  if (given) return checkPort(host, Number(given), 'admin-')
  const usual = Number(defaultTextOf('adminPort'))
  return usual === port ? checkPort(host, 0) : checkPort(host, usual).catch(() => checkPort(host, 0))
}

function pageAddress(adminPort: number, dataDir: string): string {
  const [token = ''] = ensureGeneratedKey(dataDir, 'admin-token').keys
  return `http://${host}:${adminPort}/?token=${token}`
}

/** What a server that ended at once wrote last. */
function lastLine(dataDir: string): string {
  const lines = readFileSync(join(dataDir, logName), 'utf8').trimEnd().split('\n')
  return lines.at(-1) ?? ''
}

/** Resolves when the server responds. */
async function untilReady(url: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    const health = await fetch(`${url}/v1/health`, { signal }).catch(() => null)
    signal.throwIfAborted()
    if (health?.ok === true) return
    await sleep(healthCheckEveryMs, undefined, { signal }).catch(() => undefined)
  }
}
