/**
 * One PostgreSQL server of the failover tests. Unlike test/helpers/postgres.ts, nothing blocks the event loop: the proxies
 * between the servers run in this process.
 */
import { execFile, execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { childrenOf, ended } from '../harness/proc.js'

const execute = promisify(execFile)
const isRoot = process.getuid?.() === 0
export const user = 'postgres'
const commandMsMax = 60_000
/** Of the file system of its own, for a full disk. */
const diskBytes = 512 * 1024 * 1024

/** Runs a program as a user that PostgreSQL accepts. Resolves with its output. */
export async function run(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<string> {
  const [command, all] = isRoot ? ['runuser', ['-u', user, '--', program, ...args]] : [program, [...args]]
  const options = { env: { ...process.env, ...env }, timeout: commandMsMax }
  const { stdout } = await execute(command, all, options)
  return stdout.trim()
}

export interface DatabaseParts {
  /** Directory of the programs. */
  readonly bin: string
  readonly name: string
  readonly port: number
  readonly dataDir: string
  /** libfaketime.so; null: the clock cannot be set. */
  readonly fakeTime: string | null
}

export class Database {
  readonly name: string
  readonly port: number
  readonly dataDir: string
  readonly #parts: DatabaseParts
  readonly #clockFile: string
  readonly #ballast: string
  #isMounted = false
  #frozen: number[] = []

  constructor(parts: DatabaseParts) {
    this.name = parts.name
    this.port = parts.port
    this.dataDir = parts.dataDir
    this.#parts = parts
    this.#clockFile = `${parts.dataDir}.clock`
    this.#ballast = join(parts.dataDir, 'ballast')
    mkdirSync(parts.dataDir, { mode: 0o700 })
    this.clockOffsetS = 0
    if (!isRoot) return
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskBytes},mode=0700`, 'tmpfs', parts.dataDir])
      this.#isMounted = true
    } catch {
      // Without a file system of its own, its disk cannot be filled.
    }
    execFileSync('chown', [user, parts.dataDir])
  }

  /** Whether it has a disk of its own. */
  get canFillDisk(): boolean {
    return this.#isMounted
  }

  get canSetClock(): boolean {
    return this.#parts.fakeTime !== null
  }

  /** Makes the clock of this server differ from that of the machine, immediately. */
  set clockOffsetS(seconds: number) {
    writeFileSync(this.#clockFile, `${seconds < 0 ? '' : '+'}${seconds}s\n`)
  }

  program(name: string): string {
    return join(this.#parts.bin, name)
  }

  get isRunning(): boolean {
    return existsSync(join(this.dataDir, 'postmaster.pid'))
  }

  /** Replaces the settings that this server has of its own. They apply at the next start, or after `reload`. */
  configure(settings: Readonly<Record<string, string | number>>): void {
    const all = { port: this.port, ...settings }
    const lines = Object.entries(all).map(
      ([name, value]) => `${name} = '${String(value).replaceAll("'", "''")}'\n`,
    )
    writeFileSync(join(this.dataDir, 'postgresql.auto.conf'), lines.join(''))
  }

  async start(): Promise<void> {
    const { fakeTime } = this.#parts
    const clock =
      fakeTime === null
        ? []
        : [
            `LD_PRELOAD=${fakeTime}`,
            `FAKETIME_TIMESTAMP_FILE=${this.#clockFile}`,
            'FAKETIME_CACHE_DURATION=1',
            'FAKETIME_DISABLE_SHM=1',
            'DONT_FAKE_MONOTONIC=1',
          ]
    const args = ['-D', this.dataDir, '-w', '-t', '60', '-l', `${this.dataDir}.log`, 'start']
    await run('env', [...clock, this.program('pg_ctl'), ...args])
  }

  async control(...args: readonly string[]): Promise<void> {
    await run(this.program('pg_ctl'), ['-D', this.dataDir, '-w', '-t', '60', ...args])
  }

  /** Stops it in order: all clients are disconnected, and the standbys receive everything. */
  async stop(): Promise<void> {
    await this.control('stop', '-m', 'fast')
  }

  /** Ends all processes at the same time, as the loss of the machine does. */
  async kill(): Promise<void> {
    const { postmaster, others } = await this.#processes()
    // The postmaster first: it would start a recovery.
    for (const pid of [postmaster, ...others.map((child) => child.pid)]) signal(pid, 'SIGKILL')
    this.#frozen = []
    await ended(others)
    while (isAlive(postmaster)) await delay(10)
    rmSync(join(this.dataDir, 'postmaster.pid'), { force: true })
  }

  /** Stops all processes without ending them, until `thaw` or `kill`. */
  async freeze(): Promise<void> {
    const { postmaster, others } = await this.#processes()
    this.#frozen = [postmaster, ...others.map((child) => child.pid)]
    for (const pid of this.#frozen) signal(pid, 'SIGSTOP')
  }

  thaw(): void {
    for (const pid of this.#frozen.splice(0)) signal(pid, 'SIGCONT')
  }

  async #processes() {
    const postmaster = Number(await run('head', ['-1', join(this.dataDir, 'postmaster.pid')]))
    return { postmaster, others: childrenOf(postmaster) }
  }

  /** Leaves no room on the disk, until `freeDisk`. */
  async fillDisk(): Promise<void> {
    // It fails when the disk is full.
    await execute('dd', ['if=/dev/zero', `of=${this.#ballast}`, 'bs=64k']).catch(() => undefined)
  }

  freeDisk(): void {
    rmSync(this.#ballast, { force: true })
  }

  async isAccepting(): Promise<boolean> {
    try {
      await execute(this.program('pg_isready'), ['-h', '127.0.0.1', '-p', String(this.port), '-t', '3'])
      return true
    } catch {
      return false
    }
  }

  /** Runs a statement in a session of its own. Resolves with its rows, columns separated by `|`. */
  async sql(text: string, database = 'postgres'): Promise<string> {
    const connection = ['-h', '127.0.0.1', '-p', String(this.port), '-U', user, '-d', database]
    const { stdout } = await execute(this.program('psql'), [...connection, '-XAtqc', text], {
      timeout: commandMsMax,
    })
    return stdout.trim()
  }

  async dispose(): Promise<void> {
    this.thaw()
    if (this.isRunning) await this.kill().catch(() => undefined)
    if (this.#isMounted) execFileSync('umount', ['-l', this.dataDir])
    rmSync(dirname(this.dataDir), { recursive: true, force: true, maxRetries: 10 })
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It has ended.
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
