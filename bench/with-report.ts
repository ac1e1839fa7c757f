/**
 * How much do `understudy report` and `understudy export` slow a running server? Alternates between full cycles alone,
 * during reports, and during exports of the same data directory. A command that ends is started again.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { alternate } from './alternation.js'
import { withGenerator } from './cycle-generator.js'
import { measurementOf, sequentialS, type Measurement } from './measurement.js'
import { projectDir } from './project.js'
import { cycleScenarios, scaledShape, type RunSize } from './scenarios.js'
import { withServer } from './server-under-test.js'
import { median } from './statistics.js'

/** Cycles of each kind. */
const cycleCountDefault = 120
/** A command reads everything several times within a block. */
const blockCount = 60
const kinds = ['alone', 'report', 'export'] as const
type Kind = (typeof kinds)[number]

export async function measureWithReport(size: RunSize): Promise<Measurement[]> {
  const shape = scaledShape(cycleScenarios.full.shape, size.scale)
  return withServer({}, async (server) => {
    const commands = new RepeatedCommand(server.scratchDir)
    const before = server.usage()
    const { figures, clientBusyShare } = await withGenerator(shape, async (generator) => {
      const connection = generator.connectTo(server)
      try {
        const found = await alternate<Kind>({
          kinds,
          blockCount,
          cycleCount: size.cycleCount ?? cycleCountDefault,
          generator,
          connection,
          set: (kind) => commands.change(kind),
        })
        return { figures: found, clientBusyShare: connection.takeBusyShare() }
      } finally {
        await commands.change('alone')
      }
    })
    const after = server.usage()
    const alone = median(figures.alone.samplesMs)
    return kinds.map((kind) => {
      const { samplesMs, bytes } = figures[kind]
      const ratio = `${kind} / alone: ${(median(samplesMs) / alone).toFixed(3)}`
      const note = kind === 'alone' ? '' : `; ${commands.ended[kind]} runs ended`
      return measurementOf({
        scenario: `with-report: ${kind}`,
        samplesMs,
        bytes,
        clientBusyShare,
        details: { note: `${ratio}${note}` },
        busyS: sequentialS(samplesMs),
        // CPU time includes all kinds.
        before: { ...before, cpuMs: null },
        after: { ...after, cpuMs: null },
      })
    })
  })
}

/** Runs one command on the data directory of a server again and again, until it is changed. */
class RepeatedCommand {
  /** Runs that ended by themselves. */
  readonly ended = { report: 0, export: 0 }
  readonly #scratchDir: string
  #child: ChildProcess | null = null
  #running: Promise<void> = Promise.resolve()
  #kind: Kind = 'alone'

  constructor(scratchDir: string) {
    this.#scratchDir = scratchDir
  }

  /** Ends the running command and starts another one. Rejects if a run has failed. */
  async change(kind: Kind): Promise<void> {
    this.#kind = 'alone'
    this.#child?.kill('SIGKILL')
    await this.#running
    this.#kind = kind
    if (kind === 'alone') return
    this.#running = this.#repeat(kind)
    // Until it is awaited, a failure is not unhandled.
    this.#running.catch(() => undefined)
  }

  async #repeat(kind: Exclude<Kind, 'alone'>): Promise<void> {
    const out = join(this.#scratchDir, 'export')
    for (;;) {
      rmSync(out, { recursive: true, force: true })
      mkdirSync(out)
      const dataDir = ['--data-dir', join(this.#scratchDir, 'data')]
      const failure = await this.#run(
        kind === 'report' ? ['report', '--json', ...dataDir] : ['export', out, ...dataDir],
      )
      if (this.#kind !== kind) return
      if (failure !== null) throw new Error(`${kind} failed while the server ran: ${failure}`)
      this.ended[kind]++
    }
  }

  /** Resolves with stderr for a run that fails, else null. */
  #run(args: readonly string[]): Promise<string | null> {
    const command = join(projectDir, 'bin', 'understudy')
    const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] })
    this.#child = child
    let text = ''
    child.stderr.on('data', (chunk: Buffer) => (text += chunk.toString()))
    return new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('close', (code) => resolve(code === 0 ? null : text))
    })
  }
}
