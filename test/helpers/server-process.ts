/**
 * The real server as a process of its own: `bin/understudy serve` on a directory and a port.
 */
import { randomInt } from 'node:crypto'
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildOnce } from './build-once.js'
import { CalledServer } from './called-server.js'
import { projectDir } from './project.js'

export { projectDir }
export const executable = join(projectDir, 'bin', 'understudy')

export class ServerProcess extends CalledServer {
  readonly dataDir: string
  log = ''
  readonly #env: Record<string, string>
  readonly #command: readonly [string, ...string[]]
  readonly #listeners = new Set<() => void>()
  #child: ChildProcess | null = null
  #exit: Promise<number | null> = Promise.resolve(null)

  /** `command`: the program, or what runs it. */
  constructor(
    env: Record<string, string> = {},
    dataDir = mkdtempSync(join(tmpdir(), 'understudy-')),
    command: readonly [string, ...string[]] = [executable],
  ) {
    super()
    this.dataDir = dataDir
    this.#env = env
    this.#command = command
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
    await new Promise<void>((resolve, reject) => {
      let ready = false
      const onOutput = (chunk: Buffer): void => {
        this.log += chunk.toString()
        for (const listener of this.#listeners) listener()
        // Searches the log only until the server listens, because it becomes long.
        if (ready || !this.log.includes('"msg":"listening"')) return
        ready = true
        resolve()
      }
      child.stdout.on('data', onOutput)
      child.stderr.on('data', onOutput)
      child.once('close', () => reject(new Error(this.log)))
    })
    return this
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** Resolves when the log contains `text`, which may arrive after the response that it concerns. */
  logged(text: string | RegExp): Promise<void> {
    return new Promise((resolve) => {
      const listener = (): void => {
        if (typeof text === 'string' ? !this.log.includes(text) : this.log.search(text) < 0) return
        this.#listeners.delete(listener)
        resolve()
      }
      this.#listeners.add(listener)
      listener()
    })
  }

  /** Resolves when the process has exited and its log is complete. */
  async kill(signal: NodeJS.Signals): Promise<number | null> {
    this.#child?.kill(signal)
    return this.#exit
  }

  async restart(): Promise<void> {
    await this.kill('SIGKILL')
    await this.start()
  }

  async dispose(): Promise<void> {
    await this.kill('SIGKILL')
    rmSync(this.dataDir, { recursive: true, force: true })
  }
}

export async function freePort(): Promise<number> {
  for (;;) {
    // Below the ports that the system gives to connections: one of these may be taken again at any time.
    const port = randomInt(10_000, 32_768)
    const isFree = await new Promise<boolean>((resolve) => {
      const server = createServer()
      server.on('error', () => resolve(false))
      server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
    })
    if (isFree) return port
  }
}
