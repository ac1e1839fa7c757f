/**
 * The image encoder of a model: JPEGs to tensors by sharp, a few at a time through the graph, outputs to vectors.
 */
import * as ort from 'onnxruntime-node'
import { mebibyte } from '../../base/index.js'
import { imageOutputProblems, imagePortProblems, inputShape } from './image-ports.js'
import type { RgbPixels } from '../../codec/index.js'
import { decodeJpeg, Preprocessor, type PixelValues } from './preprocess.js'
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
  type OpenedGraph,
  type Session,
} from '../sessions/graph-session.js'
import { isolateErrors, slices } from '../sessions/isolate-errors.js'
import { itemReasonOf, reasonOf } from '../sessions/onnx-errors.js'
import type { Ports } from '../sessions/ports.js'
import type { OpenProgram } from '../sessions/program.js'

/**
 * Images of one run. A CPU encodes two as fast as eight, and can decode the next ones meanwhile; other devices are faster with
 * more. Encoders have inputs of very different size, so the memory of a run is limited as well.
 */
const runImagesMax = { cpu: 2, others: 8 }
const runValuesMax = 16 * mebibyte

/** Opens the encoder and runs it on black images, so that an output that differs from the plan fails here. */
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
  const encoding = new ImageEncoding(plan, { ...graph, provider: graph.placement.provider })
  onOpened?.()
  await encoding.probe()
  return { placements: [graph.placement], ports: [graph.ports], run: (request) => encoding.run(request) }
}

interface ImageInput {
  /** Index into the request's images. */
  readonly item: number
  /** Resized, in RGB. */
  readonly pixels: Uint8Array
}

class ImageEncoding {
  readonly #plan: ImagePlan
  readonly #session: Session
  /** The type of pixels that are normalised; the others are bytes. */
  readonly #inputType: FloatType
  readonly #preprocessor: Preprocessor
  readonly #runImages: number

  constructor(plan: ImagePlan, { session, ports, provider }: OpenedGraph) {
    this.#plan = plan
    this.#inputType = floatTypeOf(ports.inputs, plan.input)
    this.#session = session
    this.#preprocessor = new Preprocessor(plan)
    const { valueCount } = this.#preprocessor
    const most = provider === 'cpu' ? runImagesMax.cpu : runImagesMax.others
    this.#runImages = plan.batch ?? Math.max(1, Math.min(most, Math.floor(runValuesMax / valueCount)))
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
    const runs = slices(images, this.#runImages)
    let decoding = decodeAll(runs[0])
    for (const run of runs.keys()) {
      const decoded = await decoding
      // Other threads decode the next images while this one resizes and encodes.
      decoding = decodeAll(runs[run + 1])
      const inputs = decoded.flatMap((image, index): ImageInput[] => {
        const item = run * this.#runImages + index
        if (image.status === 'fulfilled') return [{ item, pixels: this.#preprocessor.resized(image.value) }]
        onError(item, `it cannot be read: ${reasonOf(image.reason)}`)
        return []
      })
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
    const pixels = new Uint8Array(this.#preprocessor.valueCount)
    const images = Array.from({ length: count }, (_, item) => ({ item, pixels }))
    try {
      await this.#runGraph(images)
    } catch (error) {
      if (error instanceof PortError || count === 1) throw error
      const runOne = (): Promise<unknown> => this.#runGraph(images.slice(1))
      throw await explainHiddenBatch(error, { noun: 'image', runOne, batch: this.#plan.batch })
    }
  }

  #runGraph(some: readonly ImageInput[]): Promise<EncoderOutput> {
    const inputs = filledUp(some, this.#plan.batch)
    const count = inputs.length
    const values = this.#preprocessor.emptyTensor(count)
    inputs.forEach(({ pixels }, row) => this.#preprocessor.write(pixels, values, row))
    const { input, output } = this.#plan
    const feeds = { [input]: this.#tensor(values, inputShape(this.#plan, count)) }
    return runEncoder(this.#session, feeds, output, [count], (port) => imageOutputProblems(port, this.#plan))
  }

  #tensor(values: PixelValues, dims: readonly number[]): ort.Tensor {
    if (values instanceof Uint8Array) return new ort.Tensor('uint8', values, dims)
    return floatTensor(this.#inputType, values, dims)
  }
}

function decodeAll(images: readonly Uint8Array[] = []): Promise<PromiseSettledResult<RgbPixels>[]> {
  return Promise.allSettled(images.map(decodeJpeg))
}
