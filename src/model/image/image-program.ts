/**
 * The image encoder of a model: JPEGs to tensors by sharp, a few at a time through the graph, outputs to vectors.
 */
import * as ort from 'onnxruntime-node'
import { mebibyte } from '../../base/index.js'
import { imageOutputProblems, imagePortProblems, inputShape } from './image-ports.js'
import { Preprocessor, type PixelValues } from './preprocess.js'
import type { ItemFailure, Vectors } from '../model.js'
import { notFinite, poolOutput, type EncoderOutput } from '../sessions/pooling.js'
import type { ImagePlan } from '../sessions/plans.js'
import type { EncoderRequest } from '../sessions/batches.js'
import { explainHiddenBatch } from '../sessions/hidden-batch.js'
import { filledUp } from '../sessions/fixed-batch.js'
import { floatTensor, floatTypeOf, type FloatType } from '../sessions/floats.js'
import {
  openGraph,
  PortError,
  runEncoder,
  type GraphSession,
  type OpenedGraph,
  type Session,
} from '../sessions/graph-session.js'
import { isolateErrors } from '../sessions/isolate-errors.js'
import { itemReasonOf, reasonOf } from '../sessions/onnx-errors.js'
import type { Ports } from '../sessions/ports.js'
import type { OpenProgram } from '../sessions/program.js'

/** Images of one run, and the memory that their tensor may take: encoders have inputs of very different size. */
const runImagesMax = 8
const runValuesMax = 16 * mebibyte

/** Opens the encoder and runs it on images of zeros, so that an output that differs from the plan fails here. */
export const openImageProgram: OpenProgram<ImagePlan, EncoderRequest, Vectors> = async (
  plan,
  log,
  onOpened,
) => {
  const problemsOf = (ports: Ports): string[] => imagePortProblems(ports, plan)
  const trial = async (opened: OpenedGraph): Promise<void> => {
    onOpened?.()
    await new ImageEncoding(plan, opened).probe()
  }
  const graph = await openGraph(plan, { problemsOf, trial }, log)
  const encoding = new ImageEncoding(plan, graph)
  onOpened?.()
  await encoding.probe()
  return { placements: [graph.placement], ports: [graph.ports], run: (request) => encoding.run(request) }
}

/** The pixels of one image of the request. */
interface ImageInput {
  /** Index into the request's images. */
  readonly item: number
  readonly values: PixelValues
}

class ImageEncoding {
  readonly #plan: ImagePlan
  readonly #session: Session
  /** The type of pixels that are normalised; the others are bytes. */
  readonly #inputType: FloatType
  readonly #preprocessor: Preprocessor
  readonly #runImages: number

  constructor(plan: ImagePlan, { session, ports }: Pick<GraphSession, 'session' | 'ports'>) {
    this.#plan = plan
    this.#inputType = floatTypeOf(ports.inputs, plan.input)
    this.#session = session
    this.#preprocessor = new Preprocessor(plan)
    const { valueCount } = this.#preprocessor
    this.#runImages = plan.batch ?? Math.max(1, Math.min(runImagesMax, Math.floor(runValuesMax / valueCount)))
  }

  async run({ items: images }: EncoderRequest): Promise<Vectors> {
    const { dim } = this.#plan
    const vectors = new Float32Array(images.length * dim)
    const encoded = new Uint8Array(images.length)
    const failures: ItemFailure[] = []
    const onError = (item: number, reason: string): void => {
      failures.push({ item, reason })
    }
    const encode = async (inputs: readonly ImageInput[]): Promise<void> => {
      const output = await this.#runGraph(inputs)
      for (const [row, { item }] of inputs.entries()) {
        const target = vectors.subarray(item * dim, (item + 1) * dim)
        if (poolOutput(output, row, this.#plan, target)) encoded[item] = 1
        else onError(item, notFinite)
      }
    }
    for (let start = 0; start < images.length; start += this.#runImages) {
      const inputs = await this.#preprocess(images, start, onError)
      if (inputs.length === 0) continue
      await isolateErrors([inputs], {
        run: encode,
        control: () => this.probe(),
        onError: ({ item }, error) => onError(item, itemReasonOf(error)),
        isLate: () => false,
      })
    }
    return { vectors, encoded, failures }
  }

  /** Probes with two images if a run may contain two: a graph may accept only one without declaring it. */
  async probe(): Promise<void> {
    const count = Math.min(2, this.#runImages)
    const values = this.#preprocessor.emptyTensor(1)
    const images = Array.from({ length: count }, (_, item) => ({ item, values }))
    try {
      await this.#runGraph(images)
    } catch (error) {
      if (error instanceof PortError || count === 1) throw error
      const runOne = (): Promise<unknown> => this.#runGraph(images.slice(1))
      throw await explainHiddenBatch(error, { noun: 'image', runOne, batch: this.#plan.batch })
    }
  }

  /** The images of one run, from `start` on, that can be read. */
  async #preprocess(
    images: readonly Uint8Array[],
    start: number,
    onError: (item: number, reason: string) => void,
  ): Promise<ImageInput[]> {
    const run = images.slice(start, start + this.#runImages)
    const tensors = await Promise.allSettled(run.map((image) => this.#preprocessor.tensorOf(image)))
    return tensors.flatMap((tensor, index) => {
      const item = start + index
      if (tensor.status === 'fulfilled') return [{ item, values: tensor.value }]
      onError(item, `it cannot be read: ${reasonOf(tensor.reason)}`)
      return []
    })
  }

  #runGraph(some: readonly ImageInput[]): Promise<EncoderOutput> {
    const inputs = filledUp(some, this.#plan.batch)
    const { valueCount } = this.#preprocessor
    const count = inputs.length
    const values = this.#preprocessor.emptyTensor(count)
    inputs.forEach((one, row) => values.set(one.values, row * valueCount))
    const { input, output } = this.#plan
    const feeds = { [input]: this.#tensor(values, inputShape(this.#plan, count)) }
    return runEncoder(this.#session, feeds, output, [count], (port) => imageOutputProblems(port, this.#plan))
  }

  #tensor(values: PixelValues, dims: readonly number[]): ort.Tensor {
    if (values instanceof Uint8Array) return new ort.Tensor('uint8', values, dims)
    return floatTensor(this.#inputType, values, dims)
  }
}
