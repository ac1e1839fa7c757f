/**
 * The floor of a cycle: the time that any server must spend on the same bytes, measured with primitives. It is sampled after
 * each cycle, so that other load on the machine affects both.
 */
import type { ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { constants, zstdCompress } from 'node:zlib'
import { expectStatus } from '../../test/harness/http.js'
import type { FloorFigures } from '../measurement.js'
import { forkScript } from '../project.js'
import { untilIdle } from '../idle.js'
import { median } from '../statistics.js'
import { responseBytesMax, headerOf, RawConnection } from '../raw-connection.js'
import type { WorldCycle } from '../../test/harness/world.js'
import { BareSession } from './bare-session.js'
import { FloorFile } from './floor-file.js'
import { measureWalk } from './walk.js'

const compress = promisify(zstdCompress)

interface Sample {
  readonly transportMs: number
  readonly inferMs: number
  readonly writeMs: number
  readonly growingWriteMs: number
}

export class FloorProbe {
  readonly #scratchDir: string
  readonly #echo: ChildProcess
  readonly #connection: RawConnection
  readonly #session: BareSession
  readonly #filled: FloorFile
  readonly #growing: FloorFile
  readonly #samples: Sample[] = []

  private constructor(scratchDir: string, echo: ChildProcess, port: number, session: BareSession) {
    this.#scratchDir = scratchDir
    this.#echo = echo
    this.#connection = new RawConnection({ port, key: 'none' }, Buffer.alloc(responseBytesMax))
    this.#session = session
    this.#filled = FloorFile.filled(join(scratchDir, 'floor-filled.bin'))
    this.#growing = FloorFile.growing(join(scratchDir, 'floor-growing.bin'))
  }

  /** `scratchDir` must be on the disk of the server's data. */
  static async open(scratchDir: string): Promise<FloorProbe> {
    const session = await BareSession.open()
    const echo = forkScript('floor/echo.ts')
    const port = await new Promise<number>((resolve, reject) => {
      echo.once('message', (message) => resolve((message as { port: number }).port))
      echo.once('exit', () => reject(new Error('the echo server ended during its start')))
    })
    return new FloorProbe(scratchDir, echo, port, session)
  }

  /** Takes a sample and discards it. */
  async warmUp(cycle: WorldCycle, response: Buffer): Promise<void> {
    await this.#take(cycle, response)
  }

  async sample(cycle: WorldCycle, response: Buffer): Promise<void> {
    this.#samples.push(await this.#take(cycle, response))
  }

  /** The medians of all samples. The walk is measured on the body of `last` only. */
  async figures(last: WorldCycle, measuredMs: readonly number[]): Promise<FloorFigures> {
    const of = (name: keyof Sample): number => median(this.#samples.map((sample) => sample[name]))
    const walk = await measureWalk(last.request, this.#scratchDir)
    const parts = { transportMs: of('transportMs'), inferMs: of('inferMs'), writeMs: of('writeMs') }
    const totalMs = parts.transportMs + parts.inferMs + parts.writeMs + walk.ms
    return {
      ...parts,
      growingWriteMs: of('growingWriteMs'),
      walkMs: walk.ms,
      walkNote: walk.note,
      totalMs,
      ratio: median(measuredMs) / totalMs,
    }
  }

  async close(): Promise<void> {
    this.#connection.close()
    this.#echo.disconnect()
    this.#filled.close()
    this.#growing.close()
    await this.#session.close()
  }

  async #take(cycle: WorldCycle, response: Buffer): Promise<Sample> {
    const transportMs = await this.#transport(cycle.request, response.length)
    const inferMs = await this.#session.run(cycle.counts.engagement)
    const compressed = await compress(cycle.request, { params: { [constants.ZSTD_c_compressionLevel]: 1 } })
    const written = [compressed, response]
    return {
      transportMs,
      inferMs,
      writeMs: this.#filled.write(written),
      growingWriteMs: this.#growing.write(written),
    }
  }

  async #transport(body: Buffer, responseBytes: number): Promise<number> {
    const headers = { 'x-response-bytes': String(responseBytes) }
    // As before each cycle.
    await untilIdle()
    const reply = await this.#connection.post({ path: '/', body, headers })
    const response = expectStatus(reply, 200, 'the echo server')
    if (
      response.length !== responseBytes ||
      Number(headerOf(reply.head, 'x-received-bytes')) !== body.length
    ) {
      throw new Error('the echo server lost bytes')
    }
    return reply.tookMs
  }
}
