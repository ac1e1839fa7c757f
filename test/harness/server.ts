/**
 * The real server as a process of its own: `bin/understudy serve` on a directory and a port. It starts, is called, logs, is measured,
 * and ends, by itself or by a kill. A test that asks for it sets the clock of the process.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, closeSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { freePort } from '../../scripts/free-port.mjs'
import { buildOnce } from '../helpers/build-once.js'
import { projectDir } from '../helpers/project.js'
import { CalledServer } from './called-server.js'
import type { LoopDelay } from './loop-delay.js'
import { childrenOf, ended, resourcesOf, type Resources } from './proc.js'

export { freePort, projectDir }
export const executable = join(projectDir, 'bin', 'understudy')

const loopDelayMsMax = 10_000
const descriptorsMsMax = 20_000

/** Modules of this folder that the process loads before the program. */
const preloads = {
  clock: 'server-clock.ts',
  loopDelay: 'loop-delay.ts',
  poison: '../helpers/poisoned-server.ts',
}
export type Preload = keyof typeof preloads

export interface ServerOptions {
  /** Default: a new directory. Removed with the server. */
  readonly dataDir?: string
  /** The program, or what runs it. */
  readonly command?: readonly [string, ...string[]]
  /** `clock`: for `setClock`. `loopDelay`: for `loopDelay()`. `poison`: memory that is used again is overwritten. */
  readonly preloads?: readonly Preload[]
}

export class ServerProcess extends CalledServer {
  /** For files of the test that belong to this server. Removed with it. */
  readonly scratchDir = mkdtempSync(join(tmpdir(), 'understudy-'))
  readonly dataDir: string
  log = ''
  #env: Readonly<Record<string, string>>
  readonly #command: readonly [string, ...string[]]
  readonly #preloads: readonly Preload[]
  readonly #clock: number | null
  readonly #listeners = new Set<() => void>()
  #child: ChildProcess | null = null
  #exit: Promise<number | null> = Promise.resolve(null)
  #marks = 0

  constructor(env: Readonly<Record<string, string>> = {}, options: ServerOptions = {}) {
    super()
    const { dataDir = join(this.scratchDir, 'data'), command = [executable], preloads = [] } = options
    this.dataDir = dataDir
    if (options.dataDir === undefined) mkdirSync(dataDir, { mode: 0o700 })
    this.#env = env
    this.#command = command
    this.#preloads = preloads
    this.#clock = preloads.includes('clock') ? openSync(this.#clockFile, 'w') : null
  }

  /** Starts the process and waits until it listens. Rejects with its output if it exits first. */
  async start(): Promise<this> {
    if (this.port !== 0) return this.#startOnPort()
    for (;;) {
      this.port = await freePort()
      try {
        return await this.#startOnPort()
      } catch (error) {
        // Another process took the port after the check.
        if (!String(error).includes('the port is in use')) throw error
      }
    }
  }

  async #startOnPort(): Promise<this> {
    buildOnce()
    const [program, ...args] = this.#command
    const child = spawn(program, [...args, 'serve'], {
      env: {
        ...process.env,
        ...this.#preloaded(),
        UNDERSTUDY_PORT: String(this.port),
        UNDERSTUDY_DATA_DIR: this.dataDir,
        UNDERSTUDY_API_KEYS: this.key,
        UNDERSTUDY_ADMIN_PORT: 'off',
        ...this.#env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#child = child
    this.log = ''
    // `close` and not `exit`: the last log lines may still be in the pipe.
    this.#exit = new Promise((resolve) => child.once('close', (code) => resolve(code)))
    const onOutput = (chunk: Buffer): void => {
      this.log += chunk.toString()
      for (const listener of this.#listeners) listener()
    }
    child.stdout.on('data', onOutput)
    child.stderr.on('data', onOutput)
    const ended = new Promise<never>((_, reject) => {
      child.once('error', reject)
      child.once('close', () => reject(new Error(this.log)))
    })
    await Promise.race([this.listening(), ended])
    ended.catch(() => undefined)
    return this
  }

  /** Resolves when the process listens, or later. */
  protected listening(): Promise<void> {
    return this.logged('"msg":"listening"')
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** The token that the server wrote at its start. */
  get adminToken(): string {
    return readFileSync(join(this.dataDir, 'admin-token'), 'utf8').trim()
  }

  /** Resolves when the log contains `text` after its character `from`. It may arrive after the response that it concerns. */
  logged(text: string | RegExp, from = 0): Promise<void> {
    return new Promise((resolve) => {
      const listener = (): void => {
        if (typeof text === 'string' ? !this.log.includes(text, from) : this.log.slice(from).search(text) < 0)
          return
        this.#listeners.delete(listener)
        resolve()
      }
      this.#listeners.add(listener)
      listener()
    })
  }

  /** Lets the process read its settings again. Resolves with the log lines up to the one with the result. */
  async reload(): Promise<string> {
    const from = this.log.length
    if (this.pid !== undefined) process.kill(this.pid, 'SIGHUP')
    await this.logged(/"msg":"(settings reloaded"[^]*\n|the settings were not reloaded)/, from)
    return this.log.slice(from)
  }

  /** Resolves when the server has processed and logged everything that was sent before. */
  async settle(): Promise<void> {
    const path = `/v1/mark-${String(++this.#marks)}-end`
    await this.call({ path })
    await this.logged(path)
  }

  /** Resolves when the process has exited and its log is complete. */
  async kill(signal: NodeJS.Signals): Promise<number | null> {
    this.#child?.kill(signal)
    return this.#exit
  }

  /** As the loss of the machine ends it, with the processes of its models. Resolves with their number when all have ended. */
  async killAll(): Promise<number> {
    const children = this.pid === undefined ? [] : childrenOf(this.pid)
    await this.kill('SIGKILL')
    await ended(children)
    return children.length
  }

  /** With additional environment variables. */
  async restart(env: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.kill('SIGKILL')
    this.#env = { ...this.#env, ...env }
    await this.start()
  }

  async dispose(): Promise<void> {
    await this.kill('SIGKILL')
    if (this.#clock !== null) closeSync(this.#clock)
    for (const dir of [this.dataDir, this.scratchDir]) rmSync(dir, { recursive: true, force: true })
  }

  /** Sets the clock of the process, in milliseconds since 1970. */
  setClock(ms: number): void {
    if (this.#clock === null) throw new Error('the server has the clock of the system')
    const bytes = Buffer.alloc(8)
    bytes.writeDoubleLE(ms)
    writeSync(this.#clock, bytes, 0, bytes.length, 0)
  }

  /** The delay of the server's event loop since the last call. */
  async loopDelay(): Promise<LoopDelay> {
    rmSync(this.#loopDelayFile, { force: true })
    if (this.pid !== undefined) process.kill(this.pid, 'SIGUSR2')
    for (const until = performance.now() + loopDelayMsMax; performance.now() < until;) {
      try {
        return JSON.parse(readFileSync(this.#loopDelayFile, 'utf8')) as LoopDelay
      } catch {
        await delay(5)
      }
    }
    throw new Error('the server does not report the delay of its event loop')
  }

  resources(): Resources {
    return resourcesOf(this.pid ?? 0)
  }

  /** Resolves with true when the server has at most `count` descriptors open, with false after a time limit. */
  async waitForDescriptors(count: number): Promise<boolean> {
    const until = performance.now() + descriptorsMsMax
    while (this.resources().descriptors > count) {
      if (performance.now() > until) return false
      await delay(50)
    }
    return true
  }

  get #clockFile(): string {
    return join(this.scratchDir, 'clock')
  }

  get #loopDelayFile(): string {
    return join(this.scratchDir, 'loop-delay.json')
  }

  #preloaded(): Record<string, string> {
    if (this.#preloads.length === 0) return {}
    const imports = this.#preloads.map(
      (name) => `--import ${pathToFileURL(join(projectDir, 'test', 'harness', preloads[name])).href}`,
    )
    return {
      NODE_OPTIONS: [process.env['NODE_OPTIONS'] ?? '', ...imports].join(' '),
      SERVER_CLOCK_FILE: this.#clockFile,
      LOOP_DELAY_FILE: this.#loopDelayFile,
    }
  }
}
