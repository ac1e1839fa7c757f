/**
 * The service's model as a bare ONNX Runtime session in this process, without features and without a child process.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as ort from 'onnxruntime-node'
import { projectDir } from '../project.js'

/** The default of the service. */
const intraOpThreads = 2

interface Manifest {
  readonly head: { readonly file: string; readonly inputs: { readonly features: string } }
  readonly features: readonly string[]
}

export class BareSession {
  readonly #session: ort.InferenceSession
  readonly #inputName: string
  readonly #featureCount: number
  #matrix = new Float32Array(0)

  private constructor(session: ort.InferenceSession, manifest: Manifest) {
    this.#session = session
    this.#inputName = manifest.head.inputs.features
    this.#featureCount = manifest.features.length
  }

  /** Opens the active model with the service's session options. */
  static async open(): Promise<BareSession> {
    const modelsDir = join(projectDir, 'models')
    const modelDir = join(modelsDir, readFileSync(join(modelsDir, 'ACTIVE'), 'utf8').trim())
    const manifest = JSON.parse(readFileSync(join(modelDir, 'manifest.json'), 'utf8')) as Manifest
    const session = await ort.InferenceSession.create(join(modelDir, manifest.head.file), {
      executionProviders: ['cpu'],
      intraOpNumThreads: intraOpThreads,
      interOpNumThreads: 1,
      executionMode: 'sequential',
      graphOptimizationLevel: 'all',
      extra: { session: { intra_op: { allow_spinning: '0' } } },
    })
    return new BareSession(session, manifest)
  }

  /** Milliseconds for a batch of `rowCount` posts. The time depends on their number, not on their values. */
  async run(rowCount: number): Promise<number> {
    const valueCount = rowCount * this.#featureCount
    if (this.#matrix.length !== valueCount) {
      this.#matrix = Float32Array.from({ length: valueCount }, (_, i) => ((i * 7919) % 97) / 97)
    }
    const input = new ort.Tensor('float32', this.#matrix, [rowCount, this.#featureCount])
    const startedAt = performance.now()
    const outputs = await this.#session.run({ [this.#inputName]: input })
    const tookMs = performance.now() - startedAt
    if (Object.values(outputs).some((output) => output.dims[0] !== rowCount)) {
      throw new Error('the session lost rows')
    }
    return tookMs
  }

  async close(): Promise<void> {
    await this.#session.release()
  }
}
