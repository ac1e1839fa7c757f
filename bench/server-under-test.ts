/**
 * The server that a scenario measures, and its resources.
 */
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { StageName } from '../src/contract/index.js'
import { send } from '../test/harness/http.js'
import { cpuMs, isRunning, memoryMib } from '../test/harness/proc.js'
import { ServerProcess } from '../test/harness/server.js'
import { projectDir } from './project.js'
import { summarize, type LatencySummary } from './statistics.js'

/** Of the stages of all cycles, ramp and warm-up included. */
export type StageFigures = Readonly<Partial<Record<StageName, LatencySummary>>>

/** Resources used so far; null if /proc does not report them. */
export interface Usage {
  readonly cpuMs: number | null
  readonly rssMib: number | null
  readonly rssPeakMib: number | null
}

export interface ServerOptions {
  /** A built checkout. Default: this one. */
  readonly checkoutDir?: string
  readonly env?: Readonly<Record<string, string>>
}

export class ServerUnderTest extends ServerProcess {
  constructor({ checkoutDir = projectDir, env }: ServerOptions = {}) {
    const settings = {
      UNDERSTUDY_HOST: '127.0.0.1',
      UNDERSTUDY_ADMIN_PORT: '0',
      UNDERSTUDY_LOG_LEVEL: 'info',
    }
    super({ ...settings, ...env }, { command: [join(checkoutDir, 'bin', 'understudy')] })
  }

  /** Starts the process. Resolves with the time until its first response. */
  async timedStart(): Promise<number> {
    const startedAt = performance.now()
    await this.start()
    return performance.now() - startedAt
  }

  /** By its responses: another checkout may log other words, and a quiet server logs none. */
  protected override async listening(): Promise<void> {
    const pid = this.pid ?? 0
    const isServing = (): Promise<boolean> =>
      send({ port: this.port, path: '/v1/health' }).then(
        ({ status }) => status === 200,
        () => false,
      )
    while (!(await isServing())) {
      // `start` then rejects with the log.
      if (!isRunning(pid)) return new Promise(() => undefined)
      await delay(2)
    }
  }

  usage(): Usage {
    const pid = this.pid ?? 0
    return { cpuMs: cpuMs(pid), rssMib: memoryMib(pid, 'VmRSS'), rssPeakMib: memoryMib(pid, 'VmHWM') }
  }

  /** From the log lines of the cycles since the start. */
  stages(): StageFigures {
    const samples = new Map<StageName, number[]>()
    for (const line of this.log.split('\n').filter((one) => one.endsWith('"msg":"cycle scored"}'))) {
      const { stages_ms } = JSON.parse(line) as { stages_ms: Record<StageName, number> }
      for (const [stage, ms] of Object.entries(stages_ms) as [StageName, number][]) {
        const ofStage = samples.get(stage) ?? []
        ofStage.push(ms)
        samples.set(stage, ofStage)
      }
    }
    return Object.fromEntries([...samples].map(([stage, ms]) => [stage, summarize(ms)]))
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
    await server.kill('SIGTERM')
    await server.dispose()
  }
}
