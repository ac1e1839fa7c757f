/**
 * One service process of the site: a real `understudy serve` on a machine of its own, with the addresses of deploy/haproxy.cfg.
 */
import { closeSync, cpSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { executable, projectDir, ServerProcess } from '../helpers/server-process.js'
import { Machine } from './machine.js'

/** Small, with encoders of texts and images. */
const model = 'example-1'
const roleMsMax = 2000
const startMsMax = 90_000

export type Role = 'owner' | 'standby' | null

export class Process {
  readonly port = 8080
  readonly machine: Machine
  readonly server: ServerProcess
  readonly #clock: number
  #isRunning = false

  constructor(dir: string, name: string, address: string, journal: Readonly<Record<string, string>>) {
    this.machine = new Machine(name, address)
    const own = join(dir, name)
    mkdirSync(join(own, 'data'), { recursive: true, mode: 0o700 })
    cpSync(join(projectDir, 'models', model), join(own, 'models', model), { recursive: true })
    writeFileSync(join(own, 'models', 'ACTIVE'), `${model}\n`)
    const clockFile = join(own, 'clock')
    this.#clock = openSync(clockFile, 'w')
    const clock = pathToFileURL(join(projectDir, 'test/soak/server-clock.ts')).href
    this.server = new ServerProcess(
      {
        ...journal,
        ...{ UNDERSTUDY_HOST: '0.0.0.0', UNDERSTUDY_ADMIN_HOST: '0.0.0.0', UNDERSTUDY_ADMIN_PORT: '8081' },
        UNDERSTUDY_ADMIN_TOKEN: 'token-of-the-admin-listener',
        UNDERSTUDY_LOG_LEVEL: 'info',
        UNDERSTUDY_MODELS_DIR: join(own, 'models'),
        ...{ UNDERSTUDY_RETAIN_CYCLES_DAYS: '0', UNDERSTUDY_RETAIN_IMAGES_DAYS: '0' },
        UNDERSTUDY_RETAIN_OUTCOMES_DAYS: '0',
        SOAK_CLOCK_FILE: clockFile,
        NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --import ${clock}`,
      },
      join(own, 'data'),
      [...this.machine.prefix, executable],
    )
    this.server.port = this.port
  }

  get name(): string {
    return this.machine.name
  }

  get host(): string {
    return this.machine.address
  }

  set timeMs(ms: number) {
    const bytes = Buffer.alloc(8)
    bytes.writeDoubleLE(ms)
    writeSync(this.#clock, bytes, 0, bytes.length, 0)
  }

  /** Resolves when it listens. While the database is not reachable startup fails and is retried, as by systemd. */
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

  async stop(): Promise<void> {
    this.#isRunning = false
    const status = await this.server.kill('SIGTERM')
    if (status !== 0) throw new Error(`${this.name} ended with status ${String(status)} after SIGTERM`)
  }

  async kill(): Promise<void> {
    this.#isRunning = false
    await this.machine.kill()
    await this.server.kill('SIGKILL')
  }

  /** As a load balancer sees it: by `/readyz`. */
  async role(): Promise<Role> {
    if (!this.#isRunning) return null
    try {
      const signal = AbortSignal.timeout(roleMsMax)
      const response = await fetch(`http://${this.host}:8081/readyz`, { signal })
      await response.body?.cancel()
      return response.status === 200 ? 'owner' : 'standby'
    } catch {
      return null
    }
  }

  async dispose(): Promise<void> {
    await this.kill()
    closeSync(this.#clock)
  }
}
