/**
 * One of the service processes of the failover tests: a real `understudy serve` with a data directory, a model, a clock and
 * proxies to the databases of its own.
 */
import {
  closeSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { childrenOf, ended } from '../crash/processes.js'
import { freePort, projectDir, ServerProcess } from '../helpers/server-process.js'
import type { Database } from './database.js'
import { Proxy } from './proxy.js'

/** Small, with encoders of texts and images. */
const model = 'example-1'
const startMsMax = 60_000
const roleMsMax = 2000

/** Without a response: null. */
export type Role = 'owner' | 'standby' | null

export class Service {
  readonly name: string
  /** To each database, in their order. */
  readonly links: readonly Proxy[]
  readonly server: ServerProcess
  readonly adminPort: number
  /** Milliseconds by which the clock of this process is wrong. */
  clockOffsetMs = 0
  readonly #directory: string
  readonly #clock: number
  #frozen: number[] = []
  #isRunning = false

  private constructor(
    name: string,
    directory: string,
    links: readonly Proxy[],
    ports: readonly number[],
    env: Env,
  ) {
    this.name = name
    this.links = links
    const [port = 0, adminPort = 0] = ports
    this.adminPort = adminPort
    this.#directory = directory
    this.#clock = openSync(join(directory, 'clock'), 'w')
    const clock = pathToFileURL(join(projectDir, 'test/soak/server-clock.ts')).href
    const hosts = links.map((link) => `127.0.0.1:${link.port}`).join(',')
    this.server = new ServerProcess(
      {
        UNDERSTUDY_LOG_LEVEL: 'info',
        UNDERSTUDY_ADMIN_PORT: String(adminPort),
        UNDERSTUDY_JOURNAL: `postgres://postgres@${hosts}/${env.database}`,
        UNDERSTUDY_ENVIRONMENT: env.environment,
        UNDERSTUDY_MODELS_DIR: join(directory, 'models'),
        ...{ UNDERSTUDY_RETAIN_CYCLES_DAYS: '0', UNDERSTUDY_RETAIN_IMAGES_DAYS: '0' },
        ...{ UNDERSTUDY_RETAIN_OUTCOMES_DAYS: '0' },
        SOAK_CLOCK_FILE: join(directory, 'clock'),
        NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --import ${clock}`,
      },
      join(directory, 'data'),
    )
    this.server.port = port
  }

  static async create(name: string, databases: readonly Database[], env: Env): Promise<Service> {
    const directory = mkdtempSync(join(tmpdir(), `understudy-failover-${name}-`))
    mkdirSync(join(directory, 'data'), { mode: 0o700 })
    cpSync(join(projectDir, 'models', model), join(directory, 'models', model), { recursive: true })
    writeFileSync(join(directory, 'models', 'ACTIVE'), `${model}\n`)
    const links: Proxy[] = []
    for (const { port } of databases) links.push(await Proxy.start(port))
    return new Service(name, directory, links, [await freePort(), await freePort()], env)
  }

  get port(): number {
    return this.server.port
  }

  get isRunning(): boolean {
    return this.#isRunning
  }

  /** Sets the clock of the process, apart from its error. */
  set timeMs(ms: number) {
    const bytes = Buffer.alloc(8)
    bytes.writeDoubleLE(ms + this.clockOffsetMs)
    writeSync(this.#clock, bytes, 0, bytes.length, 0)
  }

  /** Resolves when it listens. While the database is not reachable startup fails and is retried. */
  async start(): Promise<void> {
    const deadline = performance.now() + startMsMax
    for (;;) {
      try {
        await this.server.start()
        this.#isRunning = true
        return
      } catch (error) {
        if (performance.now() > deadline) throw error
      }
    }
  }

  /** Ends it and its children at the same time, as the loss of the machine does. */
  async kill(): Promise<void> {
    const children = childrenOf(this.server.pid!)
    this.thaw()
    this.#isRunning = false
    await this.server.kill('SIGKILL')
    await ended(children)
  }

  async stop(): Promise<void> {
    this.#isRunning = false
    const status = await this.server.kill('SIGTERM')
    if (status !== 0) throw new Error(`${this.name} ended with status ${String(status)} after SIGTERM`)
  }

  /** Stops all of its processes without ending them, until `thaw`. */
  freeze(): void {
    const pid = this.server.pid!
    this.#frozen = [pid, ...childrenOf(pid).map((child) => child.pid)]
    for (const each of this.#frozen) process.kill(each, 'SIGSTOP')
  }

  thaw(): void {
    for (const pid of this.#frozen.splice(0)) {
      try {
        process.kill(pid, 'SIGCONT')
      } catch {
        // It has ended.
      }
    }
  }

  /** As a load balancer sees it: by `/readyz`. */
  async role(): Promise<Role> {
    if (!this.#isRunning) return null
    try {
      const signal = AbortSignal.timeout(roleMsMax)
      const response = await fetch(`http://127.0.0.1:${this.adminPort}/readyz`, { signal })
      await response.body?.cancel()
      return response.status === 200 ? 'owner' : 'standby'
    } catch {
      return null
    }
  }

  async dispose(): Promise<void> {
    this.thaw()
    await this.server.dispose()
    for (const link of this.links) link.close()
    closeSync(this.#clock)
    rmSync(this.#directory, { recursive: true, force: true })
  }
}

export interface Env {
  readonly database: string
  readonly environment: string
}
