/**
 * `understudy demo`: starts a server with an empty data directory, simulates a day against it, prints the best posts and
 * the first screen of the report. `demo-1`, which was trained on simulated posts, is the active model, and the transport test
 * is its shadow. The server keeps running until Ctrl-C. It is a child process, so its timings exclude the client's work.
 */
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import { endWithParent, inBackground, nodeFlags, startProcess, type ChildProcess } from '../base/index.js'
import { cycleIdOf } from '../contract/index.js'
import { evaluate } from '../history/index.js'
import { ensureGeneratedKey } from './api-keys.js'
import { integerArgument, stopSignal, type CommandContext } from './context.js'
import { CommandError, messageLine } from './failure.js'
import { checkPort } from './port-check.js'
import { withStore } from './models/common.js'
import { firstScreen } from './report/report-text.js'
import { describeReport } from './simulation-report.js'
import type { TopPost } from '../simulator/index.js'
import { checkWorkload, runSimulation } from './simulation-run.js'
import { addWorkloadFlags, workloadOf, type WorkloadFlags } from './simulate-command.js'
import { adminTokenVariable, shellWord, variableOf, type SettingName } from '../settings/index.js'

const host = '127.0.0.1'
const healthCheckEveryMs = 50
/** Enough for a day to show how the model compares with the counters. */
const postsPerDayDefault = 4000
const program = fileURLToPath(new URL('./main.js', import.meta.url))

/** Settings that the demo ignores, even if the environment has them. Its flags set the others that it needs. */
const excludedSettings: readonly SettingName[] = [
  'apiKeys',
  'tlsCertFile',
  'tlsKeyFile',
  'journal',
  'environment',
]

type DemoFlags = WorkloadFlags & { readonly port: number }

export function addDemoCommand(commands: Command, context: CommandContext): void {
  const command = commands
    .command('demo')
    .description(
      'start a server with an empty data directory, simulate a day, print the best posts and the report',
    )
    .option('--port <number>', 'port of the server; 0 selects a free one', integerArgument(0, 65_535), 8080)
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
  context.printMessage(
    `Starting a server with an empty data directory, ${dataDir}, and a client that simulates a day.\n` +
      `${activeVersion}, trained on simulated posts, scores the posts. ${shadowVersion}, whose weights are pseudo-random, is its shadow.\n\n`,
  )
  const modelsDir = makeModels(dataDir)
  const server = startServer({ port, dataDir, modelsDir, keyFile: file }, context.env)
  const url = `http://${host}:${port}`
  const stop = new AbortController()
  const stopped = Promise.race([stopSignal(), context.readerGone]).then(() => stop.abort(new StoppedByUser()))
  inBackground(
    'shutdown',
    server.ended.then((how) => stop.abort(new CommandError(`the demo server exited ${how}`))),
  )
  try {
    await untilReady(url, stop.signal)
    const options = { ...workload, url, apiKey: key, exclusive: true, keepPosts: true, signal: stop.signal }
    const report = await runSimulation(options, context.display)
    context.print(`\n${describeReport(report, context.columns())}\n`)
    context.print(await reportOf(dataDir, context))
    context.print(
      closingText({
        url,
        key,
        dataDir,
        modelsDir,
        best: report.top[0],
        lastCycleId: cycleIdOf(report.endAtMs),
      }),
    )
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
  readonly dataDir: string
  readonly modelsDir: string
  readonly keyFile: string
}

function startServer(
  { port, dataDir, modelsDir, keyFile }: ServerOptions,
  env: NodeJS.ProcessEnv,
): DemoServer {
  const removed = new Set(['UNDERSTUDY_CONFIG', adminTokenVariable, ...excludedSettings.map(variableOf)])
  const flags = ['--host', host, '--port', String(port), '--data-dir', dataDir, '--models-dir', modelsDir]
  const child = startProcess(
    process.execPath,
    [
      ...nodeFlags,
      ...endWithParent,
      program,
      'serve',
      ...flags,
      '--api-keys-file',
      keyFile,
      '--log-level',
      'warn',
    ],
    {
      env: Object.fromEntries(Object.entries(env).filter(([name]) => !removed.has(name))),
      stdio: ['pipe', 'inherit', 'inherit'],
    },
  )
  const ended = new Promise<string>((resolve) => {
    child.on('error', (error) => resolve(`: ${messageLine(error)}`))
    child.on('exit', (code, signal) => resolve(signal === null ? `with code ${code}` : `by ${signal}`))
  })
  return { process: child, ended }
}

const packages = fileURLToPath(new URL('../../models', import.meta.url))
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

/** The first screen of the report, from the directory of the running server. */
async function reportOf(dataDir: string, context: CommandContext): Promise<string> {
  const evaluation = await withStore(dataDir, (store) => evaluate(store))
  return `What the model would have picked (the first screen of \`understudy report\`)

${firstScreen(evaluation, context.columns())}`
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

interface Closing {
  readonly url: string
  readonly key: string
  readonly dataDir: string
  readonly modelsDir: string
  readonly lastCycleId: string
  /** The best post of the last cycle, if it scored one. */
  readonly best: TopPost | undefined
}

function closingText({ url, key, dataDir, modelsDir, lastCycleId, best }: Closing): string {
  const data = `--data-dir ${shellWord(dataDir)}`
  const explain =
    best === undefined
      ? ''
      : `  npx understudy explain ${shellWord(best.gall_id)} ${best.post_no} ${data} --models-dir ${shellWord(modelsDir)}\n`
  // A response is one line of hundreds of kilobytes.
  return `
The server at ${url} with the API key ${key} runs until Ctrl-C. To try it:

  curl -s ${url}/v1/health; echo
  curl -s -H 'Authorization: ${key}' ${url}/v1/scores/${lastCycleId} | head -c 600; echo
  npx understudy report ${data}
${explain}
`
}
