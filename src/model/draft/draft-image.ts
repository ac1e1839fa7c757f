/**
 * Drafts the image encoder: from its graph, a trial run, and `preprocessor_config.json` of transformers, or timm's `config.json`.
 */
import { isObject } from '../../base/index.js'
import type { ImageManifest, Padding } from '../package/manifest.js'
import type { Port } from '../sessions/ports.js'
import type { TrialOutput } from '../sessions/trial-runs.js'
import { tryEncoder, type EncoderTrial } from './encoder-trial.js'
import { guess, read, type Findings, type Known } from './findings.js'
import { numberIn, textIn, type Inventory, type Json } from './inventory.js'
import { takeBatch, trialType, type TrialGraph } from './trial-graph.js'

const sizeDefault = 224
const imageNet = { mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] } as const
/** Pillow's filters by their number. */
const resamplings = ['nearest', 'lanczos3', 'bilinear', 'bicubic'] as const

type Triple = [number, number, number]
type Interpolation = NonNullable<ImageManifest['interpolation']>
type Extent = ImageManifest['crop'] & object

/** null: something is needed without which there is no encoder; the findings name it. */
export async function draftImage(
  graph: TrialGraph,
  inventory: Inventory,
  findings: Findings,
): Promise<ImageManifest | null> {
  const input = graph.ports.inputs[0]!
  const layout = input.shape?.[1] === 3 || input.shape?.[3] !== 3 ? 'nchw' : 'nhwc'
  if (layout === 'nhwc') findings.take('image.layout', read(layout, 'the shape of the input'))
  const file = inventory.beside(graph.entry.file, 'preprocessor_config.json')
  const timm = inventory.beside(graph.entry.file, 'config.json')
  const config = (await inventory.json(file)) ?? timmConfig(await inventory.json(timm))
  const source = file ?? timm ?? ''
  const size = sizeOf(input, layout, config)
  findings.take('image.input', read(input.name, 'the only input'))
  const geometry = geometryOf(config, size, source)
  const image = {
    ...graph.entry,
    input: input.name,
    resize: findings.take('image.resize', geometry.resize),
    ...(geometry.pad === undefined ? {} : { pad: findings.take('image.pad', geometry.pad) }),
    ...(geometry.crop === null ? {} : { crop: findings.take('image.crop', geometry.crop) }),
    interpolation: findings.take('image.interpolation', interpolationOf(config, source)),
    ...channelsOf(config, source, findings),
    ...(layout === 'nhwc' ? { layout: 'nhwc' as const } : {}),
    ...(input.dtype === 'uint8' ? {} : valuesOf(config, source, findings)),
  }
  const { width, height } = geometry.crop?.value ?? (geometry.resize.value as Extent)
  const { name } = input
  const type = trialType(input)
  const perRow = 3 * width * height
  const trial = await tryEncoder(graph, {
    inputs(first, count) {
      const dims = layout === 'nchw' ? [count, 3, height, width] : [count, height, width, 3]
      const valueOf = (index: number): number => (index % perRow) % (2 + first + Math.floor(index / perRow))
      const values = Float32Array.from({ length: count * perRow }, (_, index) => valueOf(index))
      return [{ name, type, dims, values }]
    },
    output: vectorsIn,
  }).catch((error: unknown) => (error as Error).message)
  if (typeof trial === 'string') {
    findings.need('image', `the graph fails on a trial run of images of ${width} × ${height}: ${trial}`)
    return null
  }
  const batch = takeBatch('image', graph, trial.batchOfOne, findings)
  const output = outputOf(trial, findings)
  if (output === null) return null
  const pooling = guess('mean' as const, 'over the images of a post')
  return { ...image, ...batch, ...output, pooling: findings.take('image.pooling', pooling) }
}

/** Width and height of the input; without fixed sizes, those of the configuration. */
function sizeOf({ shape }: Port, layout: 'nchw' | 'nhwc', config: Json | null): Known<Extent> {
  const [height, width] = layout === 'nchw' ? [shape?.[2], shape?.[3]] : [shape?.[1], shape?.[2]]
  if (typeof height === 'number' && typeof width === 'number')
    return read({ width, height }, 'the shape of the input')
  const stated = extentIn(config, 'crop_size') ?? extentIn(config, 'size')
  return stated === null
    ? guess(
        { width: sizeDefault, height: sizeDefault },
        'the size of the input is free, and no file states it',
      )
    : read(stated, 'the configuration')
}

interface Geometry {
  readonly resize: Known<ImageManifest['resize']>
  readonly crop: Known<Extent> | null
  readonly pad?: Known<Padding>
}

function geometryOf(config: Json | null, size: Known<Extent>, source: string): Geometry {
  const edge = edgeIn(config)
  const isCropped = config?.['do_center_crop'] === true || config?.['crop_pct'] !== undefined
  if (config === null) {
    const square = size.value.width === size.value.height
    const reason = 'no preprocessor_config.json beside the graph'
    return square
      ? {
          resize: guess({ shortest_edge: size.value.width }, reason),
          crop: { ...size, state: 'guessed', source: reason },
        }
      : { resize: guess(size.value, reason), crop: null }
  }
  const pad = padIn(config, size, source)
  if (pad !== null && !isCropped) return pad
  const share = numberIn(config, 'crop_pct')
  if (share !== null && edge !== null) {
    // Large ConvNeXt models, from 384 pixels on, are not cropped.
    if (edge >= 384 && config['timm'] !== true)
      return { resize: read({ width: edge, height: edge }, source), crop: null }
    return {
      resize: read({ shortest_edge: Math.floor(edge / share) }, source),
      crop: read(size.value, source),
    }
  }
  const extent = extentIn(config, 'size')
  if (isCropped && edge !== null)
    return { resize: read({ shortest_edge: edge }, source), crop: read(size.value, source) }
  if (extent !== null)
    return isCropped && !isEqual(extent, size.value)
      ? { resize: read(extent, source), crop: read(size.value, source) }
      : { resize: read(extent, source), crop: null }
  if (edge !== null)
    return {
      resize: read({ shortest_edge: edge }, source),
      crop: guess(size.value, `${source} has no crop, and the images of a batch have one size`),
    }
  return { resize: guess(size.value, `${source} has no size that is known here`), crop: null }
}

/** Processors that centre the image; the others of transformers pad on the right and at the bottom. */
const centringProcessor = /^(Donut|Nougat|Llava)/
/** These pad the bytes with black. Others pad after the normalisation, with 0, which is the mean as a byte, or with the mean itself. */
const blackProcessor = /^(Donut|Nougat)/

/** null: the configuration does not pad to one size. */
function padIn(config: Json, size: Known<Extent>, source: string): Geometry | null {
  const type = textIn(config, 'image_processor_type') ?? ''
  if (config['do_pad'] !== true) return null
  const stated = extentIn(config, 'pad_size') ?? extentIn(config, 'size')
  // Without a size, images are padded to the largest one of a batch.
  if (stated === null && size.state === 'guessed') return null
  const extent = stated ?? size.value
  const mean = normalisation(config, 'mean', source).value
  const isBlack = blackProcessor.test(type)
  const color = mean.map((share) => (isBlack ? 0 : Math.round(255 * Math.min(Math.max(share, 0), 1))))
  const side = centringProcessor.test(type) ? 'both' : 'end'
  const reason = `do_pad in ${source}; colour and side are those of ${type === '' ? 'most image processors' : type}`
  return {
    resize: stated === null ? size : read(extent, source),
    pad: guess({ color: color as Triple, side }, reason),
    crop: null,
  }
}

function isEqual(a: Extent, b: Extent): boolean {
  return a.width === b.width && a.height === b.height
}

/** `size: 224` or `size: { shortest_edge: 224 }`. */
function edgeIn(config: Json | null): number | null {
  const size = config?.['size']
  return typeof size === 'number' ? size : isObject(size) ? numberIn(size, 'shortest_edge') : null
}

/** `{ height, width }`; a number is a square, apart from a `size` that a crop follows. */
function extentIn(config: Json | null, name: 'size' | 'crop_size' | 'pad_size'): Extent | null {
  const size = config?.[name]
  if (typeof size === 'number')
    return name === 'size' && config?.['do_center_crop'] === true ? null : { width: size, height: size }
  if (!isObject(size)) return null
  const [width, height] = [numberIn(size, 'width'), numberIn(size, 'height')]
  return width === null || height === null ? null : { width, height }
}

function interpolationOf(config: Json | null, source: string): Known<Interpolation> {
  const stated = config?.['resample'] ?? config?.['interpolation']
  const interpolation =
    typeof stated === 'number' ? resamplings[stated] : resamplings.find((name) => name === stated)
  if (interpolation !== undefined) return read(interpolation, source)
  return guess(
    'bicubic',
    stated === undefined
      ? 'no file states it'
      : `${source} has ${JSON.stringify(stated)}, which does not exist here`,
  )
}

function channelsOf(
  config: Json | null,
  source: string,
  findings: Findings,
): Pick<ImageManifest, 'channels'> {
  if (config?.['do_flip_channel_order'] !== true) return {}
  return {
    channels: findings.take('image.channels', read('bgr' as const, `do_flip_channel_order in ${source}`)),
  }
}

/** An input of bytes takes the pixels as they are. */
function valuesOf(
  config: Json | null,
  source: string,
  findings: Findings,
): Pick<ImageManifest, 'scale' | 'mean' | 'std'> {
  return {
    ...scaleOf(config, source, findings),
    mean: findings.take('image.mean', normalisation(config, 'mean', source)),
    std: findings.take('image.std', normalisation(config, 'std', source)),
  }
}

function scaleOf(config: Json | null, source: string, findings: Findings): Pick<ImageManifest, 'scale'> {
  if (config?.['do_rescale'] === false)
    return { scale: findings.take('image.scale', read(1, `do_rescale is false in ${source}`)) }
  const factor = numberIn(config, 'rescale_factor')
  if (factor === null || Math.abs(factor * 255 - 1) < 1e-9) return {}
  return { scale: findings.take('image.scale', read(factor, `rescale_factor in ${source}`)) }
}

function normalisation(config: Json | null, which: 'mean' | 'std', source: string): Known<Triple> {
  if (config?.['do_normalize'] === false)
    return read<Triple>(which === 'mean' ? [0, 0, 0] : [1, 1, 1], `do_normalize is false in ${source}`)
  const stated = config?.[`image_${which}`] ?? config?.[which]
  if (Array.isArray(stated) && stated.length === 3 && stated.every((value) => typeof value === 'number'))
    return read(stated as Triple, source)
  return guess<Triple>([...imageNet[which]], 'that of ImageNet: no file states it')
}

/** The members of timm's `pretrained_cfg` that have other names in transformers. */
function timmConfig(config: Json | null): Json | null {
  const pretrained = config?.['pretrained_cfg']
  if (!isObject(pretrained)) return null
  const size = pretrained['input_size']
  return { ...pretrained, timm: true, size: Array.isArray(size) ? (size[1] as number) : undefined }
}

const outputNames = ['image_embeds', 'embeds', 'embedding', 'pooler_output', 'last_hidden_state']

function vectorsIn(outputs: readonly TrialOutput[], rows: number): TrialOutput | undefined {
  const fitting = outputs.filter(({ dims }) => dims[0] === rows && dims.length >= 2 && dims.length <= 4)
  return outputNames.flatMap((name) => fitting.find((output) => output.name === name) ?? [])[0] ?? fitting[0]
}

function outputOf(
  { outputs, rows }: EncoderTrial,
  findings: Findings,
): Pick<ImageManifest, 'output' | 'dim' | 'pool'> | null {
  const output = vectorsIn(outputs, rows)
  if (output === undefined) {
    findings.need('image.output', 'no output of the graph is a float tensor with a row for each image')
    return null
  }
  const { name, dims } = output
  findings.take(
    'image.output',
    outputNames.includes(name) ? read(name, 'the name of the output') : guess(name, 'the first output'),
  )
  const isGrid = dims.length === 4
  const dim = findings.take('image.dim', read((isGrid ? dims[1] : dims.at(-1))!, `${name} in a trial run`))
  if (dims.length === 2) return { output: name, dim }
  const pool = isGrid
    ? read('mean' as const, 'the output is a grid of cells')
    : guess('cls' as const, 'the output has tokens; the first one stands for the image in most transformers')
  return { output: name, dim, pool: findings.take('image.pool', pool) }
}
