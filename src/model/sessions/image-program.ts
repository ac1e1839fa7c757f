/**
 * The image encoder of a model: JPEGs to tensors by sharp, a few at a time through the graph, outputs to vectors.
 */
import * as ort from 'onnxruntime-node'
import { imageOutputProblems, imagePortProblems, inputShape } from '../graph-ports/image-ports.js'
import { Preprocessor } from '../image/preprocess.js'
import type { Vectors } from '../model.js'
import { poolOutput, type EncoderOutput } from '../pooling.js'
import type { ImagePlan } from '../plans.js'
import type { EncoderRequest } from './batches.js'
import { openGraph, runEncoder, type Session } from './graph-session.js'
import type { OpenProgram, Program } from './program.js'

/** Images of one run, and the memory that their tensor may take: encoders have inputs of very different size. */
const runImagesMax = 8
const runValuesMax = 16 * 1024 * 1024

/** Opens the encoder and runs it on images of zeros, so that an output that differs from the plan fails here. */
export const openImageProgram: OpenProgram<ImagePlan, EncoderRequest, Vectors> = async (
  plan,
  log,
  onOpened,
) => {
  const { session, provider } = await openGraph(plan, (ports) => imagePortProblems(ports, plan), log)
  const program = new ImageProgram(plan, session, provider)
  onOpened?.()
  await program.probe()
  return program
}

class ImageProgram implements Program<EncoderRequest, Vectors> {
  readonly provider: string
  readonly #plan: ImagePlan
  readonly #session: Session
  readonly #preprocessor: Preprocessor
  readonly #runImages: number

  constructor(plan: ImagePlan, session: Session, provider: string) {
    this.provider = provider
    this.#plan = plan
    this.#session = session
    this.#preprocessor = new Preprocessor(plan)
    const { valueCount } = this.#preprocessor
    this.#runImages = Math.max(1, Math.min(runImagesMax, Math.floor(runValuesMax / valueCount)))
  }

  async run({ items: images }: EncoderRequest): Promise<Vectors> {
    const { dim } = this.#plan
    const vectors = new Float32Array(images.length * dim)
    const encoded = new Uint8Array(images.length)
    for (let start = 0; start < images.length; start += this.#runImages) {
      const { tensor, readable } = await this.#preprocess(images.slice(start, start + this.#runImages))
      if (readable.length === 0) continue
      const output = await this.#runGraph(tensor, readable.length)
      readable.forEach((index, row) => {
        const image = start + index
        const target = vectors.subarray(image * dim, (image + 1) * dim)
        encoded[image] = poolOutput(output, row, this.#plan, target) ? 1 : 0
      })
    }
    return { vectors, encoded }
  }

  /** Probes with two images if a run may contain two: a graph may accept only one without declaring it. */
  async probe(): Promise<void> {
    const count = Math.min(2, this.#runImages)
    await this.#runGraph(new Float32Array(count * this.#preprocessor.valueCount), count)
  }

  /** The tensor of the images that can be read, and their indices. */
  async #preprocess(
    images: readonly Uint8Array[],
  ): Promise<{ tensor: Float32Array; readable: readonly number[] }> {
    const { valueCount } = this.#preprocessor
    const tensors = await Promise.all(
      images.map((image) => this.#preprocessor.tensorOf(image).catch(() => null)),
    )
    const readable = [...tensors.keys()].filter((index) => tensors[index] !== null)
    const tensor = new Float32Array(readable.length * valueCount)
    readable.forEach((index, row) => tensor.set(tensors[index] ?? [], row * valueCount))
    return { tensor, readable }
  }

  #runGraph(tensor: Float32Array, count: number): Promise<EncoderOutput> {
    const { input, output } = this.#plan
    const feeds = { [input]: new ort.Tensor('float32', tensor, inputShape(this.#plan, count)) }
    return runEncoder(this.#session, feeds, output, [count], (port) => imageOutputProblems(port, this.#plan))
  }
}
