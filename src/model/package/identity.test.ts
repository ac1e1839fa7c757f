/**
 * Hashes of encoders and models: which members they depend on.
 */
import { describe, expect, test } from 'vitest'
import { imageEncoderHash, modelIdentity, textEncoderHash } from './identity.js'
import type { HeadManifest, ImageManifest, Manifest, TextManifest } from './manifest.js'

const text: TextManifest = {
  file: 'text.onnx',
  sha256: 'a'.repeat(64),
  tokenizer: { file: 'tokenizer.json', sha256: 'b'.repeat(64) },
  template: '{title} {body}',
  tokens_max: 128,
  pooling: 'mean',
  dim: 32,
}
const image: ImageManifest = {
  file: 'image.onnx',
  sha256: 'c'.repeat(64),
  input: 'pixels',
  output: 'vectors',
  dim: 16,
  resize: { shortest_edge: 256 },
  crop: { width: 224, height: 224 },
  mean: [0.5, 0.5, 0.5],
  std: [0.5, 0.5, 0.5],
  pooling: 'mean',
}
const head: HeadManifest = {
  file: 'head.onnx',
  sha256: 'd'.repeat(64),
  inputs: { features: 'features', text: 'text', image: 'image' },
  outputs: { p_views: { name: 'probs' } },
}
const manifest: Manifest = {
  model_version: 'v1',
  kind: 'trained',
  features: ['views_log'],
  head,
  text,
  image,
}

describe('the hash of a text encoder', () => {
  test.each<[string, Partial<TextManifest>]>([
    ['graph', { sha256: 'e'.repeat(64) }],
    ['tokenizer', { tokenizer: { ...text.tokenizer, sha256: 'e'.repeat(64) } }],
    ['template', { template: '{title}' }],
    ['maximum length', { tokens_max: 64 }],
    ['pooling', { pooling: 'cls' }],
    ['normalisation', { normalize: true }],
    ['dimension', { dim: 31 }],
    ['inputs', { inputs: { input_ids: 'ids' } }],
    ['output', { output: 'pooled' }],
    ['padding', { pad_token_id: 1 }],
    ['batch', { batch: 1 }],
  ])('changes with its %s', (_, change) => {
    expect(textEncoderHash({ ...text, ...change })).not.toBe(textEncoderHash(text))
  })

  test.each<[string, Partial<TextManifest>]>([
    ['the name of a file', { file: 'other.onnx' }],
    ['threads and providers', { intra_op_threads: 4, execution_providers: ['cuda'] }],
    ['golden tokens', { golden_tokens: [{ text: 'a', ids: [1] }] }],
    [
      'a default stated explicitly',
      { normalize: false, output: 'last_hidden_state', inputs: { input_ids: 'input_ids' } },
    ],
  ])('does not change with %s', (_, change) => {
    expect(textEncoderHash({ ...text, ...change })).toBe(textEncoderHash(text))
  })
})

describe('the hash of an image encoder', () => {
  test.each<[string, Partial<ImageManifest>]>([
    ['graph', { sha256: 'e'.repeat(64) }],
    ['size', { resize: { width: 256, height: 256 } }],
    ['crop', { crop: { width: 200, height: 224 } }],
    ['padding', { pad: { color: [0, 0, 0], side: 'end' } }],
    ['interpolation', { interpolation: 'bilinear' }],
    ['channels', { channels: 'bgr' }],
    ['layout', { layout: 'nhwc' }],
    ['scale', { scale: 1 }],
    ['mean', { mean: [0, 0, 0] }],
    ['standard deviation', { std: [1, 1, 1] }],
    ['pool over tokens', { pool: 'cls' }],
    ['batch', { batch: 1 }],
  ])('changes with its %s', (_, change) => {
    expect(imageEncoderHash({ ...image, ...change })).not.toBe(imageEncoderHash(image))
  })

  test.each<[string, Partial<ImageManifest>]>([
    ['how the images of a post are pooled', { pooling: 'max' }],
    ['whether images are required', { required: true }],
    [
      'a default stated explicitly',
      { scale: 1 / 255, channels: 'rgb', layout: 'nchw', interpolation: 'bicubic' },
    ],
  ])('does not change with %s', (_, change) => {
    expect(imageEncoderHash({ ...image, ...change })).toBe(imageEncoderHash(image))
  })
})

test('vectors of images that were resized in another way are not used', () => {
  // The hash under which the first versions of this program stored vectors.
  const first = 'ea6290566672e4e00d35450cf0e09124a074db3d062b102881161e9d45ba426f'
  expect(imageEncoderHash(image, 1)).toBe(first)
  expect(imageEncoderHash(image)).not.toBe(first)
})

describe('the identity of a model', () => {
  test('is that of the same files for every version of this program: servers have stored it', () => {
    expect(modelIdentity(manifest)).toBe('4967d6f08e256f05486430aabbe60725657a4c4fbac54404f696cf14368c120a')
  })

  test.each<[string, Partial<Manifest>]>([
    ['features', { features: ['up_log'] }],
    ['missing values', { missing: 'nan' }],
    ['graph', { head: { ...head, sha256: 'e'.repeat(64) } }],
    ['batch of a head', { head: { ...head, batch: 1 } }],
    ['inputs by column', { head: { ...head, inputs: { ...head.inputs, features: ['features'] } } }],
    ['activation', { head: { ...head, outputs: { p_views: { name: 'probs', activation: 'clip' } } } }],
    ...(
      [
        { activation: 'softmax' },
        { scale: 2 },
        { offset: 1 },
        { squeeze: true },
        { transposed: true },
      ] as const
    ).map((member): [string, Partial<Manifest>] => [
      `output (${Object.keys(member).join()})`,
      { head: { ...head, outputs: { p_views: { name: 'probs', ...member } } } },
    ]),
    ['text encoder', { text: { ...text, tokens_max: 64 } }],
    ['pooling of images', { image: { ...image, pooling: 'max' } }],
    ['transform of a feature', { features: [{ name: 'views_log', transform: 'log1p' }] }],
    ['missing texts', { text: { ...text, missing_embedding: 'nan' } }],
    ['missing images', { image: { ...image, missing_embedding: 'nan' } }],
    ['input of a gallery', { head: { ...head, inputs: { ...head.inputs, gallery_index: 'gallery' } } }],
    ['galleries', { galleries: ['programming'] }],
  ])('changes with its %s', (_, change) => {
    expect(modelIdentity({ ...manifest, ...change })).not.toBe(modelIdentity(manifest))
  })

  test('changes with the order of the galleries', () => {
    const identities = [
      ['a', 'b'],
      ['b', 'a'],
    ].map((galleries) => modelIdentity({ ...manifest, galleries }))
    expect(identities[0]).not.toBe(identities[1])
  })

  test.each<[string, Partial<Manifest>]>([
    ['notes', { note: 'n', provenance: { note: 'p' } }],
    ['golden cases', { golden: { file: 'golden.json', sha256: 'e'.repeat(64) } }],
    ['one graph in a list', { head: [head] }],
    [
      'defaults of an output stated explicitly',
      {
        head: {
          ...head,
          outputs: {
            p_views: { name: 'probs', column: 0, scale: 1, offset: 0, squeeze: false, transposed: false },
          },
        },
      },
    ],
    ['a default stated explicitly', { missing: 'imputed', text: { ...text, missing_embedding: 'zeros' } }],
  ])('does not change with %s', (_, change) => {
    expect(modelIdentity({ ...manifest, ...change })).toBe(modelIdentity(manifest))
  })
})
