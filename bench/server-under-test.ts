/**
 * Runs a real server as a child process on a scratch directory, and measures its resources.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { cpuMs, memoryMib } from '../test/harness/proc.js'
import type { StageName } from '../src/contract/index.js'
import { Client, type Address } from '../test/harness/http.js'
import { freePort, projectDir } from './project.js'
import { summarize, type LatencySummary } from './statistics.js'

/** Of the stages of all cycles, ramp and warm-up included. */
export type StageFigures = Readonly<Partial<Record<StageName, LatencySummary>>>

/** Resources used so far; null if /proc does not report them. */
export interface Usage {
  readonly cpuMs: number | null
  readonly rssMib: number | null
  readonly rssPeakMib: number | null
}

const startMsMax = 60_000
const stopMsMax = 15_000
const errorTextMax = 4000
const logWaitMsMax = 60_000

export interface ServerOptions {
  /** A built checkout. Default: this one. */
  readonly checkoutDir?: string
  readonly env?: Readonly<Record<string, string>>
}

export class ServerUnderTest implements Address {
  readonly key = 'bench-key-0123456789abcdef'
  #options: ServerOptions
  /** Contains all files of this server. */
  readonly scratchDir = mkdtempSync(join(tmpdir(), 'understudy-bench-'))
  port = 0
  #child: ChildProcess | null = null
  #ended: Promise<void> = Promise.resolve()
  #errorText = ''
  readonly #stagesMs = new Map<StageName, number[]>()
  readonly #onLog = new Set<(text: string) => void>()

  constructor(options: ServerOptions = {}) {
    this.#options = options
  }

  /** Starts the process. Resolves with the time until its first response. Rejects with its stderr if it ends first. */
  async start(): Promise<number> {
    this.port ||= await freePort()
    const startedAt = performance.now()
    const child = spawn(join(this.#options.checkoutDir ?? projectDir, 'bin', 'understudy'), ['serve'], {
      env: {
        ...process.env,
        UNDERSTUDY_HOST: '127.0.0.1',
        UNDERSTUDY_PORT: String(this.port),
        // Of two servers with the default port, the second one would start without its admin listener.
        UNDERSTUDY_ADMIN_PORT: '0',
        UNDERSTUDY_DATA_DIR: join(this.scratchDir, 'data'),
        UNDERSTUDY_API_KEYS: this.key,
        UNDERSTUDY_LOG_LEVEL: 'info',
        ...this.#options.env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line.endsWith('"msg":"cycle scored"}')) this.#addStages(line)
      for (const listener of this.#onLog) listener(line)
    })
    child.stderr.on('data', (chunk: Buffer) => {
      this.#errorText = (this.#errorText + chunk.toString()).slice(-errorTextMax)
    })
    this.#child = child
    this.#ended = new Promise<void>((resolve) => {
      child.once('error', () => resolve())
      child.once('exit', () => resolve())
    })
    const client = new Client(this)
    try {
      for (;;) {
        const reply = await client.send({ method: 'GET', path: '/v1/health' }).catch(() => null)
        if (reply?.status === 200) return performance.now() - startedAt
        if (child.pid === undefined || child.exitCode !== null)
          throw new Error(`the server ended during its start: ${this.#errorText}`)
        if (performance.now() - startedAt > startMsMax) throw new Error('the server does not respond')
        await sleep(2)
      }
    } finally {
      client.close()
    }
  }

  /** Restarts the process with additional environment variables. */
  async restart(env: Readonly<Record<string, string>>): Promise<number> {
    await this.stop()
    this.#options = { ...this.#options, env: { ...this.#options.env, ...env } }
    return this.start()
  }

  /** Resolves when the log contains `text`, from now on. Rejects after `logWaitMsMax`. */
  logged(text: string): Promise<void> {
    return new Promise((resolve, reject) => {
      let log = ''
      const listener = (chunk: string): void => {
        log += chunk
        if (log.includes(text)) end(resolve)
      }
      const end = (settle: () => void): void => {
        clearTimeout(timer)
        this.#onLog.delete(listener)
        settle()
      }
      const timer = setTimeout(
        () => end(() => reject(new Error(`the server's log does not contain ${text}`))),
        logWaitMsMax,
      )
      this.#onLog.add(listener)
    })
  }

  /** Of the running process. Throws if there is none. */
  get pid(): number {
    const { pid } = this.#child ?? {}
    if (pid === undefined) throw new Error('the server does not run')
    return pid
  }

  usage(): Usage {
    const { pid } = this.#child ?? {}
    if (pid === undefined) return { cpuMs: null, rssMib: null, rssPeakMib: null }
    return { cpuMs: cpuMs(pid), rssMib: memoryMib(pid, 'VmRSS'), rssPeakMib: memoryMib(pid, 'VmHWM') }
  }

  /** From the log lines of the cycles. */
  get stages(): StageFigures {
    return Object.fromEntries([...this.#stagesMs].map(([stage, samples]) => [stage, summarize(samples)]))
  }

  #addStages(line: string): void {
    const { stages_ms } = JSON.parse(line) as { stages_ms: Record<StageName, number> }
    for (const [stage, ms] of Object.entries(stages_ms) as [StageName, number][]) {
      const samples = this.#stagesMs.get(stage) ?? []
      this.#stagesMs.set(stage, samples)
      samples.push(ms)
    }
  }

  /** Ends the process with SIGTERM. */
  async stop(): Promise<void> {
    const child = this.#child
    if (child === null) return
    this.#child = null
    const killTimer = setTimeout(() => child.kill('SIGKILL'), stopMsMax)
    child.kill('SIGTERM')
    await this.#ended
    clearTimeout(killTimer)
  }

  /** Ends the process, if it is running, and removes its directory. */
  async dispose(): Promise<void> {
    await this.stop()
    rmSync(this.scratchDir, { recursive: true, force: true })
  }
}

/** Runs `use` with a new server, then stops the server and removes its files. */
export async function withServer<Result>(
  options: ServerOptions,
  use: (server: ServerUnderTest) => Promise<Result>,
): Promise<Result> {
  const server = new ServerUnderTest(options)
  try {
    await server.start()
    return await use(server)
  } finally {
    await server.dispose()
  }
}
