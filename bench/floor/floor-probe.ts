/**
 * The floor of a cycle, from primitives: what any server must spend on the same bytes. Sampled beside each cycle, so
 * that both meet the same machine.
 */
import type { ChildProcess } from 'node:child_process'
import { closeSync, fdatasyncSync, openSync, readFileSync, writeSync, writevSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { constants, zstdCompress } from 'node:zlib'
import * as ort from 'onnxruntime-node'
import { SessionThreads } from '../../src/model/sessions/session-threads.js'
import { expectStatus } from '../client.js'
import type { FloorFigures } from '../measurement.js'
import { forkScript, projectDir } from '../project.js'
import { quiet } from '../quiet.js'
import { median, sum } from '../statistics.js'
import { answerBytesMax, headerOf, Wire } from '../wire.js'
import type { WorldCycle } from '../world.js'
import { measureWalk } from './walk.js'

const compress = promisify(zstdCompress)
/** Filled before the clock starts: writing into it allocates nothing on the disk. */
const fileBytes = 64 * 1024 * 1024
/** As the service takes where the manifest says nothing. */
const intraOpThreads = 2

interface Sample {
  readonly transportMs: number
  readonly inferMs: number
  readonly writeMs: number
}

export class FloorProbe {
  readonly #scratchDir: string
  readonly #echo: ChildProcess
  readonly #wire: Wire
  readonly #session: ort.InferenceSession
  readonly #threads: SessionThreads
  readonly #input: { readonly name: string; readonly featureCount: number }
  readonly #file: number
  readonly #samples: Sample[] = []
  #matrix = new Float32Array(0)
  #fileAt = 0

  private constructor(
    scratchDir: string,
    echo: ChildProcess,
    port: number,
    { session, threads, input }: ActiveModel,
  ) {
    this.#scratchDir = scratchDir
    this.#echo = echo
    this.#wire = new Wire({ port, key: 'none' }, Buffer.alloc(answerBytesMax))
    this.#session = session
    this.#threads = threads
    this.#input = input
    this.#file = openSync(join(scratchDir, 'floor.bin'), 'w+')
    const zeros = Buffer.alloc(1024 * 1024)
    for (let at = 0; at < fileBytes; at += zeros.length) writeSync(this.#file, zeros, 0, zeros.length, at)
    fdatasyncSync(this.#file)
  }

  /** `scratchDir` must lie on the disk of the server's data. */
  static async open(scratchDir: string): Promise<FloorProbe> {
    const model = await openActiveModel()
    const echo = forkScript('floor/echo.ts')
    const port = await new Promise<number>((resolve, reject) => {
      echo.once('message', (message) => resolve((message as { port: number }).port))
      echo.once('exit', () => reject(new Error('the echo ended at its start')))
    })
    return new FloorProbe(scratchDir, echo, port, model)
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
    closeSync(this.#file)
    await this.#session.release()
  }

  async #take(cycle: WorldCycle, response: Buffer): Promise<Sample> {
    const transportMs = await this.#transport(cycle.request, response.length)
    const inferMs = await this.#infer(cycle.counts.engagement)
    const kept = await compress(cycle.request, { params: { [constants.ZSTD_c_compressionLevel]: 1 } })
    return { transportMs, inferMs, writeMs: this.#write([kept, response]) }
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

  /** Values do not change the time, only their number does. */
  async #infer(rowCount: number): Promise<number> {
    const { name, featureCount } = this.#input
    if (this.#matrix.length !== rowCount * featureCount) {
      this.#matrix = Float32Array.from({ length: rowCount * featureCount }, (_, i) => ((i * 7919) % 97) / 97)
    }
    const input = new ort.Tensor('float32', this.#matrix, [rowCount, featureCount])
    const startedAt = performance.now()
    this.#threads.keepOff()
    const outputs = await this.#session.run({ [name]: input })
    const tookMs = performance.now() - startedAt
    if (Object.values(outputs).some((output) => output.dims[0] !== rowCount)) {
      throw new Error('the session lost rows')
    }
    return tookMs
  }

  #write(parts: readonly Uint8Array[]): number {
    const byteCount = sum(parts.map(({ length }) => length))
    if (this.#fileAt + byteCount > fileBytes) this.#fileAt = 0
    const startedAt = performance.now()
    writevSync(this.#file, parts, this.#fileAt)
    fdatasyncSync(this.#file)
    const tookMs = performance.now() - startedAt
    this.#fileAt += byteCount
    return tookMs
  }
}

interface ActiveModel {
  readonly session: ort.InferenceSession
  readonly threads: SessionThreads
  readonly input: { readonly name: string; readonly featureCount: number }
}

/** The model that the service loads, with the options that it gives the session. */
async function openActiveModel(): Promise<ActiveModel> {
  const modelsDir = join(projectDir, 'models')
  const modelDir = join(modelsDir, readFileSync(join(modelsDir, 'ACTIVE'), 'utf8').trim())
  const manifest = JSON.parse(readFileSync(join(modelDir, 'manifest.json'), 'utf8')) as {
    head: { file: string; inputs: { features: string } }
    features: string[]
  }
  const opened = await SessionThreads.of(() =>
    ort.InferenceSession.create(join(modelDir, manifest.head.file), {
      executionProviders: ['cpu'],
      intraOpNumThreads: intraOpThreads,
      interOpNumThreads: 1,
      executionMode: 'sequential',
      graphOptimizationLevel: 'all',
      extra: { session: { intra_op: { allow_spinning: '0' } } },
    }),
  )
  return { ...opened, input: { name: manifest.head.inputs.features, featureCount: manifest.features.length } }
}
