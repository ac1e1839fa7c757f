/**
 * Model packages with encoders of realistic size and pseudo-random weights: speed does not depend on the values.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { GraphBuilder } from '../models/graph-builder.js'
import { koreanTokenizer } from '../models/korean-tokenizer.js'
import { randomNumbers } from '../models/random.js'
import { transformerGraph, transformerLayers, type LayerShape } from '../models/transformer.js'

export interface EncoderSizes {
  readonly text: LayerShape & { readonly vocabularyCount: number; readonly tokensMax: number }
  readonly vision: LayerShape & { readonly patchPixels: number }
  /** Channels of MobileNetV2 are multiplied by it. */
  readonly channelFactor: number
  readonly imagePixels: number
}

/** Multilingual MiniLM (L12-H384), ViT-S/16 and MobileNetV2. */
export const realSizes: EncoderSizes = {
  text: {
    layerCount: 12,
    width: 384,
    headCount: 12,
    hiddenWidth: 1536,
    vocabularyCount: 250_002,
    tokensMax: 128,
  },
  vision: { layerCount: 12, width: 384, headCount: 6, hiddenWidth: 1536, patchPixels: 16 },
  channelFactor: 1,
  imagePixels: 224,
}

/** For a test of the bench. */
export const tinySizes: EncoderSizes = {
  text: { layerCount: 1, width: 32, headCount: 4, hiddenWidth: 64, vocabularyCount: 2000, tokensMax: 32 },
  vision: { layerCount: 1, width: 32, headCount: 4, hiddenWidth: 64, patchPixels: 16 },
  channelFactor: 0.25,
  imagePixels: 32,
}

export const imageEncoders = ['ViT-S', 'MobileNet'] as const
export type ImageEncoderName = (typeof imageEncoders)[number]
/** Each package: its text encoder, and an image encoder of that name. */
export const encoderVersions = ['encoders-a', 'encoders-b'] as const

const seed = 20_260_301
const note = 'for a benchmark'
const features = ['views_log', 'up_log']
const mobileNetDim = 1280
const headHiddenWidth = 256

/** The same texts and images have other vectors in the second version, as after a new training: the hash of its graph differs. */
export function writeEncoderModels(
  modelsDir: string,
  sizes: EncoderSizes,
  image: Readonly<Record<(typeof encoderVersions)[number], ImageEncoderName>>,
): void {
  const { json, vocabularyCount } = koreanTokenizer()
  const { text: textSize, imagePixels } = sizes
  const textGraph = transformerGraph({
    ...textSize,
    vocabularyCount: Math.max(vocabularyCount, textSize.vocabularyCount),
    hasTypeIds: true,
    seed,
    note,
  })
  for (const [index, version] of encoderVersions.entries()) {
    const write = (name: string, bytes: Uint8Array): { file: string; sha256: string } => {
      const file = join(modelsDir, version, name)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, bytes)
      return { file: name, sha256: createHash('sha256').update(bytes).digest('hex') }
    }
    // A second note: of two, protobuf reads the last.
    const graph = (bytes: Uint8Array): Uint8Array =>
      Buffer.concat([bytes, Buffer.from([0x32, 1, 0x30 + index])])
    const isVision = image[version] === 'ViT-S'
    const imageDim = isVision ? sizes.vision.width : scaled(mobileNetDim, sizes)
    const manifest = {
      model_version: version,
      kind: 'transport-test',
      features,
      head: {
        ...write('head.onnx', headGraph(textSize.width, imageDim)),
        inputs: { features: 'features', text: 'text', image: 'image' },
        outputs: { p_views: { name: 'probs' } },
      },
      text: {
        ...write('text/model.onnx', graph(textGraph)),
        tokenizer: write('text/tokenizer.json', Buffer.from(json)),
        template: '{title}\n{body}',
        tokens_max: textSize.tokensMax,
        pooling: 'mean',
        normalize: true,
        dim: textSize.width,
      },
      image: {
        ...write('image/model.onnx', graph(isVision ? visionGraph(sizes) : mobileNetGraph(sizes))),
        input: 'pixel_values',
        output: 'vectors',
        dim: imageDim,
        resize: { shortest_edge: imagePixels },
        crop: { width: imagePixels, height: imagePixels },
        interpolation: 'bicubic',
        channels: 'rgb',
        layout: 'nchw',
        pool: 'mean',
        pooling: 'mean',
        mean: [0.485, 0.456, 0.406],
        std: [0.229, 0.224, 0.225],
      },
    }
    writeFileSync(join(modelsDir, version, 'manifest.json'), JSON.stringify(manifest))
  }
}

function headGraph(textDim: number, imageDim: number): Uint8Array {
  const graph = new GraphBuilder(randomNumbers(seed))
  const all = graph.add('Concat', ['features', 'text', 'image'], { axis: { int: 1 } })
  const hidden = graph.add('Relu', [graph.linear(all, features.length + textDim + imageDim, headHiddenWidth)])
  graph.add('Sigmoid', [graph.linear(hidden, headHiddenWidth, 1)], {}, 'probs')
  const input = (name: string, width: number) => ({ name, shape: ['N', width] })
  return graph.write({
    name: 'head',
    note,
    inputs: [input('features', features.length), input('text', textDim), input('image', imageDim)],
    outputs: [{ name: 'probs', shape: ['N', 1] }],
  })
}

/** Patches of the image, embedded with their positions, through the layers of a transformer. */
function visionGraph({ vision, imagePixels }: EncoderSizes): Uint8Array {
  const { width, patchPixels } = vision
  const graph = new GraphBuilder(randomNumbers(seed + 1))
  const patchCount = (imagePixels / patchPixels) ** 2
  const kernel = graph.weights([width, 3, patchPixels, patchPixels], 1 / Math.sqrt(3 * patchPixels ** 2))
  const strides = { strides: { ints: [patchPixels, patchPixels] } }
  const cells = graph.add('Conv', ['pixel_values', kernel, graph.weights([width], 0.1)], strides)
  const flat = graph.add('Reshape', [cells, graph.integers(0, width, patchCount)])
  const patches = graph.add('Transpose', [flat], { perm: { ints: [0, 2, 1] } })
  const state = graph.add('Add', [patches, graph.weights([patchCount, width], 0.3)])
  transformerLayers(graph, vision, { state, mask: null, output: 'vectors' })
  return writeImageGraph(graph, imagePixels, [patchCount, width])
}

/** Blocks of MobileNetV2: expansion, channels, repeats, stride of the first. */
const mobileNetBlocks = [
  [1, 16, 1, 1],
  [6, 24, 2, 2],
  [6, 32, 3, 2],
  [6, 64, 4, 2],
  [6, 96, 3, 1],
  [6, 160, 3, 2],
  [6, 320, 1, 1],
] as const

function mobileNetGraph(sizes: EncoderSizes): Uint8Array {
  const graph = new GraphBuilder(randomNumbers(seed + 2))
  const convolution = (
    input: string,
    [from, to, edge, stride]: readonly [from: number, to: number, edge: number, stride: number],
    group = 1,
  ): string => {
    const kernel = graph.weights(
      [to, from / group, edge, edge],
      Math.sqrt((2 * group) / (from * edge * edge)),
    )
    const pad = (edge - 1) / 2
    return graph.add('Conv', [input, kernel, graph.weights([to], 0.02)], {
      strides: { ints: [stride, stride] },
      pads: { ints: [pad, pad, pad, pad] },
      group: { int: group },
    })
  }
  const limits = [graph.floats([], Float32Array.of(0)), graph.floats([], Float32Array.of(6))]
  const relu6 = (input: string, name?: string): string => graph.add('Clip', [input, ...limits], {}, name)
  let channels = scaled(32, sizes)
  let state = relu6(convolution('pixel_values', [3, channels, 3, 2]))
  for (const [expansion, width, repeats, firstStride] of mobileNetBlocks) {
    const to = scaled(width, sizes)
    for (let repeat = 0; repeat < repeats; repeat++) {
      const stride = repeat === 0 ? firstStride : 1
      const wide = channels * expansion
      const expanded = expansion === 1 ? state : relu6(convolution(state, [channels, wide, 1, 1]))
      const filtered = relu6(convolution(expanded, [wide, wide, 3, stride], wide))
      const narrow = convolution(filtered, [wide, to, 1, 1])
      state = stride === 1 && channels === to ? graph.add('Add', [state, narrow]) : narrow
      channels = to
    }
  }
  const dim = scaled(mobileNetDim, sizes)
  relu6(convolution(state, [channels, dim, 1, 1]), 'vectors')
  return writeImageGraph(graph, sizes.imagePixels, [dim, 'rows', 'columns'])
}

function scaled(channels: number, { channelFactor }: EncoderSizes): number {
  return Math.max(8, channels * channelFactor)
}

function writeImageGraph(
  graph: GraphBuilder,
  pixels: number,
  output: readonly (number | string)[],
): Uint8Array {
  return graph.write({
    name: 'image-encoder',
    note,
    inputs: [{ name: 'pixel_values', shape: ['N', 3, pixels, pixels] }],
    outputs: [{ name: 'vectors', shape: ['N', ...output] }],
  })
}
