/**
 * The floor of a cycle, from primitives: what any server must spend on the same bytes. Sampled beside each cycle, so
 * that both meet the same machine.
 */
import type { ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { constants, zstdCompress } from 'node:zlib'
import { expectStatus } from '../client.js'
import type { FloorFigures } from '../measurement.js'
import { forkScript } from '../project.js'
import { quiet } from '../quiet.js'
import { median } from '../statistics.js'
import { answerBytesMax, headerOf, Wire } from '../wire.js'
import type { WorldCycle } from '../world.js'
import { BareSession } from './bare-session.js'
import { KeptFile } from './kept-file.js'
import { measureWalk } from './walk.js'

const compress = promisify(zstdCompress)

interface Sample {
  readonly transportMs: number
  readonly inferMs: number
  readonly writeMs: number
}

export class FloorProbe {
  readonly #scratchDir: string
  readonly #echo: ChildProcess
  readonly #wire: Wire
  readonly #session: BareSession
  readonly #file: KeptFile
  readonly #samples: Sample[] = []

  private constructor(scratchDir: string, echo: ChildProcess, port: number, session: BareSession) {
    this.#scratchDir = scratchDir
    this.#echo = echo
    this.#wire = new Wire({ port, key: 'none' }, Buffer.alloc(answerBytesMax))
    this.#session = session
    this.#file = new KeptFile(join(scratchDir, 'floor.bin'))
  }

  /** `scratchDir` must lie on the disk of the server's data. */
  static async open(scratchDir: string): Promise<FloorProbe> {
    const session = await BareSession.open()
    const echo = forkScript('floor/echo.ts')
    const port = await new Promise<number>((resolve, reject) => {
      echo.once('message', (message) => resolve((message as { port: number }).port))
      echo.once('exit', () => reject(new Error('the echo ended at its start')))
    })
    return new FloorProbe(scratchDir, echo, port, session)
  }

  /** A sample that does not count. */
  async warmUp(cycle: WorldCycle, response: Buffer): Promise<void> {
    await this.#take(cycle, response)
  }

  async sample(cycle: WorldCycle, response: Buffer): Promise<void> {
    this.#samples.push(await this.#take(cycle, response))
  }

  /** Sums up; `last` stands for all bodies where On-Demand walks. */
  async figures(last: WorldCycle, measuredMs: readonly number[]): Promise<FloorFigures> {
    const of = (name: keyof Sample): number => median(this.#samples.map((sample) => sample[name]))
    const walk = await measureWalk(last.request, this.#scratchDir)
    const parts = { transportMs: of('transportMs'), inferMs: of('inferMs'), writeMs: of('writeMs') }
    const totalMs = parts.transportMs + parts.inferMs + parts.writeMs + walk.ms
    return {
      ...parts,
      walkMs: walk.ms,
      walkNote: walk.note,
      totalMs,
      ratio: median(measuredMs) / totalMs,
    }
  }

  async close(): Promise<void> {
    this.#wire.close()
    this.#echo.disconnect()
    this.#file.close()
    await this.#session.close()
  }

  async #take(cycle: WorldCycle, response: Buffer): Promise<Sample> {
    const transportMs = await this.#transport(cycle.request, response.length)
    const inferMs = await this.#session.run(cycle.counts.engagement)
    const kept = await compress(cycle.request, { params: { [constants.ZSTD_c_compressionLevel]: 1 } })
    return { transportMs, inferMs, writeMs: this.#file.write([kept, response]) }
  }

  async #transport(body: Buffer, answerBytes: number): Promise<number> {
    const headers = { 'x-answer-bytes': String(answerBytes) }
    // As before each cycle.
    await quiet()
    const reply = await this.#wire.post({ path: '/', body, headers })
    const answer = expectStatus(reply, 200, 'the echo')
    if (answer.length !== answerBytes || Number(headerOf(reply.head, 'x-received-bytes')) !== body.length) {
      throw new Error('the echo lost bytes')
    }
    return reply.tookMs
  }
}
