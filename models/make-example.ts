/**
 * Makes the package `example-1`: a small package with every part of the format, namely a text encoder, its tokenizer, an
 * image encoder, and a head that reads features and both vectors. Its weights are pseudo-random; it predicts nothing.
 * `scripts/pinned node --import ./bench/typescript.mjs models/make-example.ts [directory]`. Same bytes on every run.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { exampleCases, exampleImages } from './example-golden.js'
import { GraphBuilder } from './graph-builder.js'
import { koreanTokenizer } from './korean-tokenizer.js'
import { mulberry32 } from '../src/base/mulberry32.js'
import { transformerGraph } from './transformer.js'

const version = 'example-1'
const note =
  'Example of a complete delivery, with pseudo-random weights. Not a trained model: its outputs are no predictions.'
const seeds = { head: 20_250_101, text: 20_250_102, image: 20_250_103 }
const heads = ['p_views', 'p_comments', 'p_up', 'downvote_share']
const tokensMax = 64
const textDim = 32
const imagePixels = 32
const patchPixels = 8
const imageDim = 16
const hiddenCount = 24

/** Features with their mean and standard deviation over ordinary posts, which normalise the inputs. */
const features: readonly (readonly [name: string, mean: number, deviation: number])[] = [
  ['views_log', 6, 1.5],
  ['up_log', 2.5, 1.2],
  ['down_log', 1, 1],
  ['comment_cnt_log', 2.5, 1.2],
  ['views_missing', 0, 0.2],
  ['up_per_view', 0.03, 0.04],
  ['comments_per_view', 0.03, 0.04],
  ['previous_present', 0.9, 0.3],
  ['views_gain_log', 3, 1.5],
  ['created_age_log', 1.6, 0.8],
  ['title_chars_log', 3, 0.5],
  ['body_present', 0.9, 0.3],
  ['text_encoded', 0.9, 0.3],
  ['images_in_post_log', 0.9, 0.8],
  ['images_stored_share', 0.8, 0.35],
  ['images_encoded_log', 0.7, 0.7],
  ['images_encoded_share', 0.8, 0.35],
  ['gallery_minor', 0.4, 0.5],
]

/** Token ids that the Rust library `tokenizers` 0.23.2 returns for this tokenizer. */
const goldenTokens = [
  { text: '오늘 진짜 ㅋㅋㅋ 대박이네', ids: [2, 595, 598, 591, 136, 837, 663, 941, 737, 3] },
  {
    text: 'Hello, 한글1234 한글abc!! 안녕_하',
    ids: [
      2, 516, 1131, 1138, 1138, 1141, 482, 450, 666, 708, 670, 1105, 1106, 1107, 1108, 450, 666, 708, 670,
      1127, 1128, 1129, 471, 471, 303, 666, 738, 683, 507, 450, 3,
    ],
  },
]

/** The files of the package, by name. */
export function makeExample(): { readonly [file: string]: Uint8Array } {
  const { json, vocabularyCount } = koreanTokenizer()
  const files = {
    'head.onnx': headGraph(),
    'text/model.onnx': transformerGraph({
      layerCount: 2,
      width: textDim,
      headCount: 4,
      hiddenWidth: 2 * textDim,
      vocabularyCount,
      tokensMax,
      hasTypeIds: true,
      seed: seeds.text,
      note,
    }),
    'text/tokenizer.json': new TextEncoder().encode(json),
    'image/model.onnx': imageGraph(),
    ...exampleImages,
    'golden.json': goldenFile(),
  }
  return { ...files, 'manifest.json': new TextEncoder().encode(manifestText(files)) }
}

function goldenFile(): Uint8Array {
  const cases = exampleCases.map((one) => ({
    name: one.name,
    features: Object.fromEntries(features.map(([name], column) => [name, one.row[column]])),
    ...(one.record === undefined ? {} : { record: one.record }),
    ...(one.images === undefined ? {} : { images: one.images.map((file) => named(file, exampleImages)) }),
    heads: Object.fromEntries(heads.map((name, head) => [name, one.heads[head]])),
  }))
  return new TextEncoder().encode(JSON.stringify({ cases }, null, 2) + '\n')
}

/** The reference to a file in manifests and golden cases. */
function named(
  file: string,
  files: { readonly [file: string]: Uint8Array },
): { readonly file: string; readonly sha256: string } {
  const bytes = files[file]
  if (bytes === undefined) throw new Error(`there is no file ${file}`)
  return { file, sha256: createHash('sha256').update(bytes).digest('hex') }
}

function manifestText(files: { readonly [file: string]: Uint8Array }): string {
  const manifest = {
    $schema: '../../docs/manifest.schema.json',
    model_version: version,
    kind: 'transport-test',
    provenance: { trained_on: 'nothing: pseudo-random weights by models/make-example.ts' },
    note,
    features: features.map(([name]) => name),
    head: {
      ...named('head.onnx', files),
      inputs: { features: 'features', text: 'text', image: 'image' },
      outputs: Object.fromEntries(heads.map((name, column) => [name, { name: 'probs', column }])),
    },
    text: {
      ...named('text/model.onnx', files),
      tokenizer: named('text/tokenizer.json', files),
      template: '{title}\n{body}',
      tokens_max: tokensMax,
      pooling: 'mean',
      normalize: true,
      dim: textDim,
      golden_tokens: goldenTokens,
    },
    image: {
      ...named('image/model.onnx', files),
      input: 'pixel_values',
      output: 'patches',
      dim: imageDim,
      resize: { shortest_edge: imagePixels },
      crop: { width: imagePixels, height: imagePixels },
      interpolation: 'bicubic',
      channels: 'rgb',
      layout: 'nchw',
      mean: [0.485, 0.456, 0.406],
      std: [0.229, 0.224, 0.225],
      pool: 'mean',
      pooling: 'mean',
    },
    // Image libraries that downscale differ by about one level of 255.
    golden: { ...named('golden.json', files), tolerance: 0.001 },
  }
  return JSON.stringify(manifest, null, 2) + '\n'
}

/** `pixel_values` [N, 3, 32, 32] to `patches` [N, 16, 4, 4]: a vector per patch, computed from it and its neighbours. */
function imageGraph(): Uint8Array {
  const graph = new GraphBuilder(mulberry32(seeds.image))
  const kernel = graph.weights([imageDim, 3, patchPixels, patchPixels], 1 / Math.sqrt(3 * patchPixels))
  const strides = { strides: { ints: [patchPixels, patchPixels] } }
  const patches = graph.add('Conv', ['pixel_values', kernel, graph.weights([imageDim], 0.1)], strides)
  const neighbourKernel = graph.weights([imageDim, imageDim, 3, 3], 1 / Math.sqrt(imageDim * 9))
  const pads = { pads: { ints: [1, 1, 1, 1] } }
  graph.add(
    'Conv',
    [graph.add('Relu', [patches]), neighbourKernel, graph.weights([imageDim], 0.1)],
    pads,
    'patches',
  )
  const rows = imagePixels / patchPixels
  return graph.write({
    name: 'image-encoder',
    note,
    inputs: [{ name: 'pixel_values', shape: ['N', 3, imagePixels, imagePixels] }],
    outputs: [{ name: 'patches', shape: ['N', imageDim, rows, rows] }],
  })
}

/** `features`, `text` and `image` to `probs` [N, 4]: one hidden layer over all three. */
function headGraph(): Uint8Array {
  const graph = new GraphBuilder(mulberry32(seeds.head))
  const column = (pick: 1 | 2): Float32Array => Float32Array.from(features, (feature) => feature[pick])
  const centred = graph.add('Sub', ['features', graph.floats([1, features.length], column(1))])
  const scaled = graph.add('Div', [centred, graph.floats([1, features.length], column(2))])
  // The text vector has length 1; the root of its dimension scales its components to a deviation of about 1.
  const root = graph.floats([1], Float32Array.of(Math.sqrt(textDim)))
  const all = graph.add('Concat', [scaled, graph.add('Mul', ['text', root]), 'image'], { axis: { int: 1 } })
  const inputCount = features.length + textDim + imageDim
  const hidden = graph.add('Relu', [graph.linear(all, inputCount, hiddenCount, Math.SQRT2)])
  graph.add('Sigmoid', [graph.linear(hidden, hiddenCount, heads.length)], {}, 'probs')
  return graph.write({
    name: version,
    note,
    inputs: [
      { name: 'features', shape: ['N', features.length] },
      { name: 'text', shape: ['N', textDim] },
      { name: 'image', shape: ['N', imageDim] },
    ],
    outputs: [{ name: 'probs', shape: ['N', heads.length] }],
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const directory = process.argv[2] ?? fileURLToPath(new URL(`./${version}/`, import.meta.url))
  for (const [file, bytes] of Object.entries(makeExample())) {
    const path = join(directory, file)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, bytes)
  }
}
