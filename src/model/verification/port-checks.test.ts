/**
 * The problems that are reported for wrong exports: graphs against their manifests.
 */
import { describe, expect, test } from 'vitest'
import type { HeadManifest, HeadOutput, ImageManifest, Manifest, TextManifest } from '../package/manifest.js'
import type { Port, Ports } from '../sessions/ports.js'
import { portProblems } from './port-checks.js'

const head: HeadManifest = {
  file: 'head.onnx',
  sha256: '',
  inputs: { features: 'features', text: 'text', image: 'image' },
  outputs: { p_views: { name: 'probs', column: 1 }, p_up: { name: 'up' } },
}
const text: TextManifest = {
  file: 'text.onnx',
  sha256: '',
  tokenizer: { file: 'tokenizer.json', sha256: '' },
  template: '{title}',
  tokens_max: 32,
  pooling: 'mean',
  dim: 8,
}
const uncropped: ImageManifest = {
  file: 'image.onnx',
  sha256: '',
  input: 'pixels',
  output: 'vectors',
  dim: 4,
  resize: { shortest_edge: 40 },
  pooling: 'mean',
}
const normalised = { mean: [0, 0, 0], std: [1, 1, 1] } satisfies Partial<ImageManifest>
const unnormalised: ImageManifest = { ...uncropped, crop: { width: 32, height: 24 } }
const image: ImageManifest = { ...unnormalised, ...normalised }
const manifest: Manifest = {
  model_version: 'v1',
  kind: 'trained',
  features: ['views_log', 'up_log', 'down_log'],
  head,
  text,
  image,
}

const port = (name: string, shape: Port['shape'], dtype = 'float32'): Port => ({
  name,
  dtype,
  shape,
})

const headFile = {
  inputs: [port('features', ['N', 3]), port('text', ['N', 8]), port('image', [null, 4])],
  outputs: [port('probs', ['N', 2]), port('up', ['N'])],
}
const textFile = {
  inputs: [port('input_ids', ['N', 'T'], 'int64'), port('attention_mask', ['N', 'T'], 'int64')],
  outputs: [port('last_hidden_state', ['N', 'T', 8])],
}
const imageFile = { inputs: [port('pixels', ['N', 3, 24, 32])], outputs: [port('vectors', ['N', 4])] }

describe('the graph of heads', () => {
  test('that has an input for every feature gets the members that list them', () => {
    const inputs = ['views', 'up', 'down'].map((name) => port(name, ['N', 1]))
    const ports = { ...headFile, inputs: [...inputs, ...headFile.inputs.slice(1)] }
    expect(portProblems(manifest, 'head', ports).at(-1)).toBe(
      'if these are features, list them in the order of the features, each of which takes as many as it has columns: ' +
        '"inputs": { "features": ["views","up","down"] }',
    )
    const features = ['views', 'up', 'down']
    const listed = { ...manifest, head: { ...head, inputs: { ...head.inputs, features } } }
    expect(portProblems(listed, 'head', ports)).toEqual([])
  })

  test.each<[string, Ports]>([
    ['as in the manifest', headFile],
    [
      'of doubles',
      { ...headFile, outputs: [port('probs', ['N', 2], 'float64'), port('up', ['N', 1], 'float64')] },
    ],
    [
      'of half precision',
      {
        inputs: headFile.inputs.map((input) => ({ ...input, dtype: 'float16' })),
        outputs: headFile.outputs.map((output) => ({ ...output, dtype: 'float16' })),
      },
    ],
    [
      'that leaves widths and ranks open',
      {
        inputs: [port('features', null), port('text', ['N', 'T']), port('image', null)],
        outputs: [port('probs', null), port('up', ['N', 'M'])],
      },
    ],
    [
      'with outputs that no head uses',
      { ...headFile, outputs: [...headFile.outputs, port('label', ['N'], 'int64')] },
    ],
  ])('is right %s', (_, ports) => expect(portProblems(manifest, 'head', ports)).toEqual([]))

  const withInput = (input: Port): Ports => ({
    ...headFile,
    inputs: headFile.inputs.map((other) => (other.name === input.name ? input : other)),
  })
  const withOutput = (output: Port): Ports => ({
    ...headFile,
    outputs: headFile.outputs.map((other) => (other.name === output.name ? output : other)),
  })

  test.each<[string, Ports, string]>([
    [
      'lacks an input',
      { ...headFile, inputs: headFile.inputs.slice(1) },
      'it has no input features; its inputs are text, image',
    ],
    [
      'takes another width',
      withInput(port('features', ['N', 4])),
      'input features must be float32, float64 or float16 [N, 3], but is float32 [N, 4]',
    ],
    [
      'takes one row only',
      withInput(port('text', [1, 8])),
      'input text must be float32, float64 or float16 [N, 8], but is float32 [1, 8]: set batch to 1 for this graph in the ' +
        'manifest, or export its first dimension as dynamic',
    ],
    [
      'takes integers as a matrix',
      withInput(port('image', ['N', 4], 'int64')),
      'input image must be float32, float64 or float16 [N, 4], but is int64 [N, 4]',
    ],
    [
      'has an input that the manifest does not name',
      { ...headFile, inputs: [...headFile.inputs, port('mask', ['N'])] },
      "the manifest does not name the graph's input mask",
    ],
    [
      'lacks an output',
      { ...headFile, outputs: headFile.outputs.slice(1) },
      'it has no output probs for p_views; its outputs are up',
    ],
    [
      'lacks a column',
      withOutput(port('probs', ['N', 1])),
      'output probs has no column 1 for p_views: it is float32 [N, 1]',
    ],
    [
      'has columns of which none is named',
      withOutput(port('up', ['N', 2])),
      'output up has 2 columns, but the manifest specifies no column for p_up',
    ],
    [
      'returns bfloat16',
      withOutput(port('up', ['N'], 'bfloat16')),
      'output up must be float32, float64 or float16, [N] or [N, columns], but is bfloat16 [N]',
    ],
    [
      'returns maps',
      withOutput({ name: 'probs', dtype: null, shape: null }),
      'output probs must be a tensor: export a classifier with options={"zipmap": False} (skl2onnx) or ' +
        'zipmap=False (onnxmltools)',
    ],
  ])('is refused when it %s', (_, ports, problem) =>
    expect(portProblems(manifest, 'head', ports)).toEqual([problem]),
  )

  test.each<[string, HeadOutput, Port['shape'], string[]]>([
    ['of one row of columns', { name: 'y', column: 2, squeeze: true }, ['N', 1, 3], []],
    ['of columns of rows', { name: 'y', column: 2, transposed: true }, [3, 'N'], []],
    [
      'that lacks the column once it is squeezed',
      { name: 'y', column: 3, squeeze: true },
      ['N', 1, 3],
      ['output y has no column 3 for p_up: it is float32 [N, 1, 3]'],
    ],
    [
      'that has too many sizes however it is squeezed',
      { name: 'y', column: 0, squeeze: true },
      ['N', 2, 3],
      ['output y must be float32, float64 or float16, [N] or [N, columns], but is float32 [N, 2, 3]'],
    ],
    [
      'of columns of rows with too many sizes',
      { name: 'y', column: 0, transposed: true },
      [3, 1, 'N'],
      [
        'output y must be float32, float64 or float16, [N] or [columns, N], but is float32 [3, 1, N]: ' +
          'set squeeze for this output',
      ],
    ],
    [
      'of one logit for a softmax',
      { name: 'y', column: 0, activation: 'softmax' },
      ['N', 1],
      [
        'output y has one column, of which the softmax is always 1: activation of p_up must be sigmoid for a logit',
      ],
    ],
  ])('with an output %s', (_, p_up, shape, expected) => {
    const changed = { ...manifest, head: { ...head, outputs: { p_up } } }
    expect(portProblems(changed, 'head', { ...headFile, outputs: [port('y', shape)] })).toEqual(expected)
  })

  describe('with parts of the features', () => {
    const partProblems = (...parts: Port[]): string[] => {
      const features = parts.map(({ name }) => name)
      const listed = { ...manifest, head: { ...head, inputs: { ...head.inputs, features } } }
      return portProblems(listed, 'head', { ...headFile, inputs: [...parts, ...headFile.inputs.slice(1)] })
    }

    test.each<[string, Port[]]>([
      ['two and one', [port('num', ['N', 2]), port('age', ['N', 1])]],
      ['one as a vector, and two', [port('age', ['N'], 'int64'), port('num', ['N', 2], 'float64')]],
      ['one, and a free number, which is the rest', [port('age', ['N', 1]), port('num', ['N', null])]],
      ['a free number each', [port('a', ['N', null]), port('b', ['N', 'k']), port('c', null)]],
    ])('is right: %s', (_, parts) => expect(partProblems(...parts)).toEqual([]))

    test.each<[string, Port[], number]>([
      ['fewer columns', [port('num', ['N', 1]), port('age', ['N', 1])], 2],
      ['more columns', [port('num', ['N', 3]), port('age', ['N', 1])], 4],
      ['fewer columns, none of a free number', [port('a', ['N', null]), port('b', ['N', null])], 2],
      ['no column left for a free number', [port('num', ['N', 3]), port('b', ['N', null])], 4],
    ])('is refused with %s than features', (_, parts, count) =>
      expect(partProblems(...parts)).toEqual([
        `its inputs for features have ${count} columns in all, but the manifest has 3 features`,
      ]),
    )

    test('is refused when one has another shape or type', () => {
      const types = 'float32, float64, float16, int64 or int32'
      const wrong = [port('views', ['N', 1, 1]), port('up', ['N'], 'string'), port('down', [1, 1])]
      expect(partProblems(...wrong)).toEqual([
        `input views must be ${types} [N, 1] or [N], but is float32 [N, 1, 1]`,
        `input up must be ${types} [N, 1] or [N], but is string [N]`,
        expect.stringContaining(
          `input down must be ${types} [N, 1] or [N], but is float32 [1, 1]: set batch to 1`,
        ),
      ])
    })

    test('of which the manifest names only the first gets the members that list them', () => {
      const parts = [port('features', ['N', 2]), port('age', ['N', 1])]
      const problems = portProblems(manifest, 'head', {
        ...headFile,
        inputs: [...parts, ...headFile.inputs.slice(1)],
      })
      expect(problems.at(-1)).toMatch(/list them .*: "inputs": \{ "features": \["features","age"\] \}$/)
    })
  })

  test('of a fixed batch size is right if the manifest states it', () => {
    const fixed = {
      ...headFile,
      inputs: headFile.inputs.map((one) => ({ ...one, shape: [4, ...(one.shape ?? []).slice(1)] })),
    }
    expect(portProblems({ ...manifest, head: { ...head, batch: 4 } }, 'head', fixed)).toEqual([])
    expect(portProblems({ ...manifest, head: { ...head, batch: 4 } }, 'head', headFile)).toEqual([])
    expect(portProblems({ ...manifest, head: { ...head, batch: 1 } }, 'head', fixed)).toHaveLength(3)
  })

  test('has one problem when one output is wrong for several heads', () => {
    const outputs = { p_views: { name: 'probs', column: 0 }, p_up: { name: 'probs', column: 1 } }
    const both = { ...manifest, head: { ...head, outputs } }
    const problemsWith = (output: Port) => portProblems(both, 'head', { ...headFile, outputs: [output] })
    expect(problemsWith(port('probs', ['N', 2, 1]))).toEqual([
      'output probs must be float32, float64 or float16, [N] or [N, columns], but is float32 [N, 2, 1]: ' +
        'set squeeze for this output',
    ])
    expect(problemsWith(port('others', ['N', 2]))).toEqual([
      'it has no output probs for p_views, p_up; its outputs are others',
    ])
  })

  test('of several is compared with its own part of the manifest', () => {
    const second: HeadManifest = {
      ...head,
      inputs: { features: 'x' },
      outputs: { p_comments: { name: 'y' } },
    }
    const both = { ...manifest, head: [head, second] }
    const ports = { inputs: [port('x', ['N', 3])], outputs: [port('y', ['N', 1])] }
    expect(portProblems(both, 'head[1]', ports)).toEqual([])
    expect(portProblems(both, 'head[0]', ports)).not.toEqual([])
  })
})

describe('the graph of a text encoder', () => {
  test.each<[string, Ports]>([
    ['as Hugging Face exports it', textFile],
    [
      'with token types',
      { ...textFile, inputs: [...textFile.inputs, port('token_type_ids', ['N', 'T'], 'int64')] },
    ],
    ['that pools by itself', { ...textFile, outputs: [port('last_hidden_state', ['N', 8])] }],
  ])('is right %s', (_, ports) => expect(portProblems(manifest, 'text', ports)).toEqual([]))

  test.each<[string, Ports, string]>([
    [
      'lacks its mask',
      { ...textFile, inputs: textFile.inputs.slice(0, 1) },
      'it has no input attention_mask; its inputs are input_ids',
    ],
    [
      'takes 32-bit integers',
      { ...textFile, inputs: textFile.inputs.map((input) => ({ ...input, dtype: 'int32' })) },
      'input input_ids must be int64 [N, tokens], but is int32 [N, T]',
    ],
    [
      'takes one text of one length only',
      { ...textFile, inputs: textFile.inputs.map((input) => ({ ...input, shape: [1, 128] })) },
      'input input_ids must be int64 [N, tokens], but is int64 [1, 128]: export both dimensions as dynamic',
    ],
    [
      'takes one text',
      { ...textFile, inputs: textFile.inputs.map((input) => ({ ...input, shape: [1, 'T'] })) },
      'input input_ids must be int64 [N, tokens], but is int64 [1, T]: set batch to 1 for this graph in the manifest, ' +
        'or export both dimensions as dynamic',
    ],
    [
      'has an input of positions',
      { ...textFile, inputs: [...textFile.inputs, port('position_ids', ['N', 'T'], 'int64')] },
      "the manifest does not name the graph's input position_ids",
    ],
    [
      'gives another width',
      { ...textFile, outputs: [port('last_hidden_state', ['N', 'T', 16])] },
      'output last_hidden_state must be float32, float64 or float16 [N, tokens, 8] or [N, 8], but is float32 [N, T, 16]',
    ],
    [
      'gives another output',
      { ...textFile, outputs: [port('logits', ['N', 8])] },
      'it has no output last_hidden_state; its outputs are logits',
    ],
  ])('is refused when it %s', (_, ports, problem) =>
    expect(portProblems(manifest, 'text', ports)[0]).toBe(problem),
  )
})

describe('the graph of an image encoder', () => {
  const pooled = (pool: 'cls' | 'mean'): Manifest => ({ ...manifest, image: { ...image, pool } })
  const outputs = (shape: Port['shape']): Ports => ({ ...imageFile, outputs: [port('vectors', shape)] })

  test.each<[string, Manifest, Ports]>([
    ['as in the manifest', manifest, imageFile],
    ['of open size', manifest, { ...imageFile, inputs: [port('pixels', ['N', 3, 'H', 'W'])] }],
    ['of tokens', pooled('cls'), outputs(['N', 50, 4])],
    ['of cells', pooled('mean'), outputs(['N', 4, 7, 7])],
    [
      'with channels last',
      { ...manifest, image: { ...image, layout: 'nhwc' } },
      { ...imageFile, inputs: [port('pixels', ['N', 24, 32, 3])] },
    ],
    [
      'that takes the bytes of pixels',
      { ...manifest, image: unnormalised },
      { ...imageFile, inputs: [port('pixels', ['N', 3, 24, 32], 'uint8')] },
    ],
    [
      'of a size without a crop',
      {
        ...manifest,
        image: { ...uncropped, ...normalised, resize: { width: 16, height: 8 } },
      },
      { ...imageFile, inputs: [port('pixels', ['N', 3, 8, 16])] },
    ],
  ])('is right %s', (_, changed, ports) => expect(portProblems(changed, 'image', ports)).toEqual([]))

  test.each<[string, Manifest, Ports, string]>([
    [
      'takes another size',
      manifest,
      { ...imageFile, inputs: [port('pixels', ['N', 3, 32, 24])] },
      'input pixels must be float32, float64, float16 or uint8 [N, 3, 24, 32], but is float32 [N, 3, 32, 24]',
    ],
    [
      'takes one image',
      manifest,
      { ...imageFile, inputs: [port('pixels', [1, 3, 24, 32])] },
      'input pixels must be float32, float64, float16 or uint8 [N, 3, 24, 32], but is float32 [1, 3, 24, 32]: ' +
        'set batch to 1 for this graph in the manifest, or export its first dimension as dynamic',
    ],
    [
      'takes bytes, and the manifest normalises them',
      manifest,
      { ...imageFile, inputs: [port('pixels', ['N', 3, 24, 32], 'uint8')] },
      'input pixels is uint8 and takes the bytes of the pixels: remove image.scale, image.mean and image.std',
    ],
    [
      'takes floats, and the manifest does not say which',
      { ...manifest, image: unnormalised },
      imageFile,
      'input pixels is float32: image.mean and image.std are required',
    ],
    [
      'gives tokens unpooled',
      manifest,
      outputs(['N', 50, 4]),
      'output vectors must be float32, float64 or float16 [N, 4], but is float32 [N, 50, 4]: set image.pool to make one vector of it',
    ],
    [
      'has cells without a first',
      pooled('cls'),
      outputs(['N', 4, 7, 7]),
      'output vectors must be float32, float64 or float16 [N, 4] or [N, tokens, 4], but is float32 [N, 4, 7, 7]: ' +
        'an output of cells has no class token, so image.pool must be mean',
    ],
    [
      'gives another width',
      manifest,
      outputs(['N', 5]),
      'output vectors must be float32, float64 or float16 [N, 4], but is float32 [N, 5]',
    ],
    [
      'lacks its input',
      manifest,
      { ...imageFile, inputs: [] },
      'it has no input pixels; its inputs are none',
    ],
  ])('is refused when it %s', (_, changed, ports, problem) =>
    expect(portProblems(changed, 'image', ports)[0]).toBe(problem),
  )
})
