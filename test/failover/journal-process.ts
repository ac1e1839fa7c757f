/**
 * A server process of an environment with a journal: a real `understudy serve` with a data directory, a model and a clock of its
 * own. The lanes of failover and of Patroni add where it runs.
 */
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectDir, ServerProcess } from '../harness/server.js'

/** Small, with encoders of texts and images. */
const model = 'example-1'
const startMsMax = 90_000
const roleMsMax = 2000

/** Without a response: null. */
export type Role = 'owner' | 'standby' | null

export class JournalProcess {
  readonly name: string
  readonly server: ServerProcess
  /** Milliseconds by which the clock of this process is wrong. */
  clockOffsetMs = 0
  #isRunning = false

  /** `directory`: of this process alone. `command`: how the program is started. */
  constructor(
    name: string,
    directory: string,
    env: Readonly<Record<string, string>>,
    command?: readonly [string, ...string[]],
  ) {
    this.name = name
    mkdirSync(join(directory, 'data'), { recursive: true, mode: 0o700 })
    cpSync(join(projectDir, 'models', model), join(directory, 'models', model), { recursive: true })
    writeFileSync(join(directory, 'models', 'ACTIVE'), `${model}\n`)
    this.server = new ServerProcess(
      {
        UNDERSTUDY_LOG_LEVEL: 'info',
        UNDERSTUDY_MODELS_DIR: join(directory, 'models'),
        UNDERSTUDY_RETAIN_CYCLES_DAYS: '0',
        UNDERSTUDY_RETAIN_IMAGES_DAYS: '0',
        UNDERSTUDY_RETAIN_OUTCOMES_DAYS: '0',
        ...env,
      },
      {
        dataDir: join(directory, 'data'),
        preloads: ['clock'],
        ...(command === undefined ? {} : { command }),
      },
    )
  }

  get isRunning(): boolean {
    return this.#isRunning
  }

  /** Sets the clock of the process, apart from its error. */
  set timeMs(ms: number) {
    this.server.setClock(ms + this.clockOffsetMs)
  }

  /** Resolves when it listens. While the database is not reachable startup fails and is retried, as by systemd. */
  async start(): Promise<void> {
    const deadline = performance.now() + startMsMax
    for (;;) {
      try {
        await this.startAtOnce()
        return
      } catch (error) {
        if (performance.now() > deadline) throw error
      }
    }
  }

  /** Rejects if the first try fails. */
  async startAtOnce(): Promise<void> {
    await this.server.start()
    this.#isRunning = true
  }

  async stop(): Promise<void> {
    this.#isRunning = false
    const status = await this.server.kill('SIGTERM')
    if (status !== 0) throw new Error(`${this.name} ended with status ${String(status)} after SIGTERM`)
  }

  /** Ends it as the loss of its machine does. */
  async kill(): Promise<void> {
    this.#isRunning = false
    await this.server.killAll()
  }

  /** As a load balancer sees it: by `/readyz` of the admin listener at this address. */
  protected async roleAt(adminUrl: string): Promise<Role> {
    if (!this.#isRunning) return null
    try {
      const signal = AbortSignal.timeout(roleMsMax)
      const response = await fetch(`${adminUrl}/readyz`, { signal })
      await response.body?.cancel()
      return response.status === 200 ? 'owner' : 'standby'
    } catch {
      return null
    }
  }
}
