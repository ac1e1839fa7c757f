/**
 * Drafts of single graphs, opened and run by a real session: forms that a manifest has to state.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { elementTypes, type Operator } from '../../../models/onnx-writer.js'
import { exampleTokenizer } from '../../../test/helpers/encoder-plans.js'
import { galleryGraph } from '../../../test/helpers/gallery-graph.js'
import { smallGraph } from '../../../test/helpers/model-packages.js'
import { silentLog } from '../../base/index.js'
import { draftManifest, type Draft } from './draft.js'

const draftOf = (head: Uint8Array, features?: string): Promise<Draft> =>
  draftFiles({ 'head.onnx': head }, features)

async function draftFiles(
  files: Readonly<Record<string, Uint8Array | string>>,
  features?: string,
): Promise<Draft> {
  const directory = mkdtempSync(join(tmpdir(), 'understudy-draft-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, file)), { recursive: true })
    writeFileSync(join(directory, file), content)
  }
  const given = features === undefined ? undefined : { given: features, isFile: false }
  return draftManifest({ directory, version: 'v', features: given, log: silentLog })
}

const sigmoid = { type: 'Sigmoid', inputs: ['sum'], outputs: ['probs'] }
const feature = (name: string, shape: (string | number)[] = ['N', 1]) => ({ name, shape })
const needs = ({ findings }: Draft): string[] =>
  findings.filter(({ state }) => state === 'needed').map(({ member }) => member)

/** A graph with two inputs of one feature each. */
const sumGraph = (...names: readonly string[]): Uint8Array =>
  smallGraph({
    inputs: names.map((name) => feature(name)),
    operators: [{ type: 'Add', inputs: names, outputs: ['sum'] }, sigmoid],
  })

test.each([
  ['features', ['up_log', 'views_log'], 'views_log,up_log', ['views_log', 'up_log']],
  ['columns of a table', ['up_log', 'views_log'], 'post_id,views_log,up_log', ['views_log', 'up_log']],
  ['some features of a table', ['up_log', 'views_log'], 'views_log,age,up_log', ['views_log', 'up_log']],
  ['columns that are no features', ['ups', 'hits'], 'post_id,hits,views_log,up_log,ups', ['hits', 'ups']],
] as const)('inputs named as %s take these, in whatever order', async (_, inputs, given, expected) => {
  const draft = await draftOf(sumGraph(...inputs), given)
  expect(draft.manifest).toMatchObject({ features: expected, head: { inputs: { features: expected } } })
  expect(draft.manifest?.draft).not.toContain('head.inputs.features')
})

test('inputs with other names than the features take them by position, which is a guess', async () => {
  const draft = await draftOf(sumGraph('a', 'b'), 'views_log,up_log')
  expect(draft.manifest).toMatchObject({
    features: ['views_log', 'up_log'],
    head: { inputs: { features: ['a', 'b'] } },
  })
  expect(draft.manifest?.draft).toContain('head.inputs.features')
})

test('graphs with the same inputs in another order take the same features', async () => {
  const files = { 'p_up.onnx': sumGraph('a', 'b'), 'p_views.onnx': sumGraph('b', 'a') }
  const inputs = [{ inputs: { features: ['a', 'b'] } }, { inputs: { features: ['a', 'b'] } }]
  expect((await draftFiles(files)).manifest?.head).toMatchObject(inputs)
  expect((await draftFiles(files, 'views_log,up_log')).manifest?.head).toMatchObject(inputs)
})

test('the order of a matrix is not that of the inputs of another graph', async () => {
  const matrix = smallGraph({
    inputs: [feature('x', ['N', 2])],
    outputs: [feature('probs', ['N', 2])],
    operators: [{ type: 'Sigmoid', inputs: ['x'], outputs: ['probs'] }],
  })
  const draft = await draftFiles({
    'p_up.onnx': sumGraph('up_log', 'views_log'),
    'p_views.onnx': matrix,
    'train.csv': 'post_id,views_log,up_log\n',
  })
  expect(draft.manifest).toMatchObject({
    features: ['views_log', 'up_log'],
    head: [{ inputs: { features: ['views_log', 'up_log'] } }, { inputs: { features: 'x' } }],
  })
})

test('a graph that takes only batches of one size states it, and is run with it', async () => {
  const head = smallGraph({
    inputs: [feature('sum', [3, 1])],
    outputs: [feature('probs', [3, 1])],
    operators: [sigmoid],
  })
  const draft = await draftOf(head, 'views_log')
  expect(draft.manifest).toMatchObject({
    head: { batch: 3, inputs: { features: 'sum' }, outputs: { p_views: { name: 'probs' } } },
  })
  expect(needs(draft)).toEqual([])
})

test('a graph whose rows depend on each other is run one row at a time', async () => {
  const head = smallGraph({
    inputs: [feature('x')],
    operators: [
      { type: 'ReduceMax', inputs: ['x'], outputs: ['max'] },
      { type: 'Sub', inputs: ['x', 'max'], outputs: ['sum'] },
      sigmoid,
    ],
  })
  const draft = await draftOf(head, 'views_log')
  expect(draft.manifest).toMatchObject({ head: { batch: 1 } })
  expect(draft.findings.find(({ member }) => member === 'head.batch')?.source).toBe(
    'a row has other values alone than in a batch',
  )
  expect(
    (await draftOf(smallGraph({ inputs: [feature('sum')], operators: [sigmoid] }), 'up')).manifest?.head,
  ).not.toHaveProperty('batch')
})

test('a graph that declares any number of rows and runs one is run one row at a time', async () => {
  const graphOf = (rows: bigint) =>
    smallGraph({
      inputs: [feature('x')],
      constants: [{ name: 'shape', shape: [2], values: BigInt64Array.of(rows, 1n) }],
      operators: [{ type: 'Reshape', inputs: ['x', 'shape'], outputs: ['sum'] }, sigmoid],
    })
  const draft = await draftOf(graphOf(1n), 'views_log')
  expect(draft.manifest).toMatchObject({ head: { batch: 1, outputs: { p_views: { name: 'probs' } } } })
  expect(draft.findings.find(({ member }) => member === 'head.batch')?.source).toBe(
    'a hidden batch of one: it runs one row, and no more',
  )
  expect(needs(draft)).toEqual([])
  expect(needs(await draftOf(graphOf(2n), 'views_log'))).toEqual(['head.outputs'])
})

test('whether missing features may be NaN is tried one row at a time too', async () => {
  const head = smallGraph({
    inputs: [feature('x')],
    constants: [{ name: 'shape', shape: [2], values: BigInt64Array.of(1n, 1n) }],
    operators: [
      { type: 'IsNaN', inputs: ['x'], outputs: ['empty'] },
      {
        type: 'Cast',
        inputs: ['empty'],
        outputs: ['number'],
        attributes: { to: { int: elementTypes.float32 } },
      },
      { type: 'Reshape', inputs: ['number', 'shape'], outputs: ['sum'] },
      sigmoid,
    ],
  })
  const { manifest, findings } = await draftOf(head, 'views_log')
  expect(manifest).toMatchObject({ head: { batch: 1 } })
  expect(findings.find(({ member }) => member === 'missing')?.state).toBe('guessed')
})

test('a graph that runs a few rows and fails on many has no batch of one, and the reason is the question', async () => {
  // The number of rows is an index of a table of eight.
  const operators: Operator[] = [
    { type: 'Shape', inputs: ['x'], outputs: ['sizes'] },
    { type: 'Gather', inputs: ['sizes', 'first'], outputs: ['rows'] },
    { type: 'Gather', inputs: ['table', 'rows'], outputs: ['value'] },
    { type: 'Add', inputs: ['x', 'value'], outputs: ['sum'] },
    sigmoid,
  ]
  const graph = smallGraph({
    inputs: [feature('x')],
    constants: [
      { name: 'first', shape: [1], values: BigInt64Array.of(0n) },
      { name: 'table', shape: [8], values: new Float32Array(8) },
    ],
    operators,
  })
  const { manifest, findings } = await draftOf(graph, 'views_log')
  expect(JSON.stringify(manifest)).not.toContain('"batch"')
  expect(findings.find(({ member }) => member === 'head.outputs')).toMatchObject({
    state: 'needed',
    source: expect.stringMatching(
      /^the graph fails on a trial batch of trial posts: .*out of data bounds/,
    ) as string,
  })
})

test('a traced size that mixes rows with another dimension is a hidden batch of one too', async () => {
  const head = smallGraph({
    inputs: [feature('x', ['N', 2])],
    outputs: [feature('probs', [1, 'M', 2])],
    constants: [{ name: 'shape', shape: [3], values: BigInt64Array.of(1n, -1n, 2n) }],
    operators: [{ type: 'Reshape', inputs: ['x', 'shape'], outputs: ['sum'] }, sigmoid],
  })
  const draft = await draftOf(head, 'views_log,up_log')
  const probs = { name: 'probs', squeeze: true }
  expect(draft.manifest).toMatchObject({
    head: { batch: 1, outputs: { p_views: { ...probs, column: 0 }, p_comments: { ...probs, column: 1 } } },
  })
  expect(needs(draft)).toEqual([])
})

test.each([1, 4])(
  'a transposed output of runs of %i rows keeps the values of each row together',
  async (rows) => {
    const head = smallGraph({
      inputs: [feature('x', [rows, 4])],
      outputs: [feature('probs', [3, rows])],
      constants: [
        {
          name: 'weights',
          shape: [4, 3],
          values: Float32Array.from({ length: 12 }, (_, index) => Math.cos(index)),
        },
      ],
      operators: [
        { type: 'MatMul', inputs: ['x', 'weights'], outputs: ['logits'] },
        { type: 'Softmax', inputs: ['logits'], outputs: ['wide'], attributes: { axis: { int: 1 } } },
        { type: 'Transpose', inputs: ['wide'], outputs: ['probs'] },
      ],
    })
    const draft = await draftOf(head, 'views_log,up_log,up_per_view,created_age_log')
    expect(needs(draft)).toEqual([])
    // Only values of one row add up to 1, which leaves one head.
    expect(draft.manifest?.head).toMatchObject({
      batch: rows,
      outputs: { p_views: { name: 'probs', transposed: true, column: 2 } },
    })
  },
)

test('a transposed output whose rows depend on each other is computed one row at a time', async () => {
  const head = smallGraph({
    inputs: [feature('x', ['N', 2])],
    outputs: [feature('probs', [2, 'N'])],
    operators: [
      { type: 'ReduceMax', inputs: ['x'], outputs: ['max'] },
      { type: 'Sub', inputs: ['x', 'max'], outputs: ['less'] },
      { type: 'Transpose', inputs: ['less'], outputs: ['sum'] },
      sigmoid,
    ],
  })
  const draft = await draftOf(head, 'views_log,up_log')
  expect(draft.manifest?.head).toMatchObject({
    batch: 1,
    outputs: { p_views: { transposed: true, column: 0 }, p_comments: { transposed: true, column: 1 } },
  })
})

test.each([
  ['a declared', [1, 3], '[3]', { type: 'Squeeze', inputs: ['x'], outputs: ['sum'] }],
  ['a hidden', ['N', 3], '[3]', { type: 'Reshape', inputs: ['x', 'shape'], outputs: ['sum'] }],
  [
    'a declared',
    [1, 3],
    '[]',
    { type: 'ReduceMean', inputs: ['x'], outputs: ['sum'], attributes: { keepdims: { int: 0 } } },
  ],
])(
  '%s batch of one without a dimension for the row is refused with its shape',
  async (_, input, text, operator) => {
    const head = smallGraph({
      inputs: [feature('x', input)],
      outputs: [{ name: 'probs', shape: null }],
      constants: [{ name: 'shape', shape: [1], values: BigInt64Array.of(3n) }],
      operators: [operator, sigmoid],
    })
    const { findings } = await draftOf(head, 'views_log,up_log,up_per_view')
    expect(findings.find(({ member }) => member === 'head.outputs')?.source).toContain(
      `with 1 row it returns probs ${text}; keep the dimension of the rows`,
    )
  },
)

test('a graph that cannot be opened is not used, and without another one there is no manifest', async () => {
  const draft = await draftOf(Buffer.from('PK not a graph'))
  expect(draft).toMatchObject({ manifest: null, findings: [{ member: 'head', state: 'needed' }] })
  expect(draft.unused).toEqual([expect.stringMatching(/^head\.onnx: /)])
})

/** The mean of a vector as a head. */
const vectorHead = (name: 'text' | 'image', dim: number): Uint8Array =>
  smallGraph({
    inputs: [feature(name, ['N', dim])],
    operators: [
      { type: 'ReduceMean', inputs: [name], outputs: ['sum'], attributes: { axes: { ints: [1] } } },
      sigmoid,
    ],
  })

/** Operators that quantise `from` by the range of the whole batch. */
const quantised = (from: string, to: string): Operator[] => [
  { type: 'DynamicQuantizeLinear', inputs: [from], outputs: ['bytes', 'step', 'zero'] },
  { type: 'DequantizeLinear', inputs: ['bytes', 'step', 'zero'], outputs: [to] },
]

const reshaped = (from: string, to: string): Operator[] => [
  { type: 'Reshape', inputs: [from, 'traced'], outputs: [to] },
]

/** Vectors of four numbers for each token. */
function textPackage(operators: (from: string, to: string) => Operator[]) {
  const tokens = (name: string) => ({ name, shape: ['N', 'tokens'], element: 'int64' as const })
  const encoder = smallGraph({
    inputs: [tokens('input_ids'), tokens('attention_mask')],
    outputs: [feature('last_hidden_state', ['N', 'tokens', 4])],
    constants: [
      { name: 'table', shape: [9, 4], values: Float32Array.from({ length: 36 }, (_, index) => index / 7) },
      { name: 'traced', shape: [3], values: BigInt64Array.of(1n, -1n, 4n) },
    ],
    operators: [
      { type: 'Gather', inputs: ['table', 'input_ids'], outputs: ['vectors'] },
      ...operators('vectors', 'last_hidden_state'),
    ],
  })
  return {
    'head.onnx': vectorHead('text', 4),
    'text/model_quantized.onnx': encoder,
    'text/tokenizer.json': JSON.stringify(exampleTokenizer()),
  }
}

/** The pixels as the vector. */
function imagePackage(operators: (from: string, to: string) => Operator[]) {
  const encoder = smallGraph({
    inputs: [feature('pixel_values', ['N', 3, 2, 2])],
    outputs: [feature('image_embeds', ['N', 12])],
    constants: [{ name: 'traced', shape: [2], values: BigInt64Array.of(1n, 12n) }],
    operators: [
      { type: 'Flatten', inputs: ['pixel_values'], outputs: ['flat'] },
      ...operators('flat', 'image_embeds'),
    ],
  })
  return { 'head.onnx': vectorHead('image', 12), 'image/model.onnx': encoder }
}

test.each([
  ['text', 'quantised by the batch', textPackage(quantised), 'a row has other values alone than in a batch'],
  [
    'text',
    'traced with one row',
    textPackage(reshaped),
    'a hidden batch of one: it runs one row, and no more',
  ],
  [
    'image',
    'quantised by the batch',
    imagePackage(quantised),
    'a row has other values alone than in a batch',
  ],
  [
    'image',
    'traced with one row',
    imagePackage(reshaped),
    'a hidden batch of one: it runs one row, and no more',
  ],
] as const)('the %s encoder that is %s is run one row at a time', async (encoder, _, files, reason) => {
  const draft = await draftFiles(files)
  expect(needs(draft)).toEqual([])
  expect(draft.manifest).toMatchObject({ head: { inputs: { [encoder]: encoder } }, [encoder]: { batch: 1 } })
  expect(draft.findings.find(({ member }) => member === `${encoder}.batch`)).toMatchObject({
    state: 'read',
    source: reason,
  })
})

test('encoders whose rows do not depend on each other have no fixed batch', async () => {
  const plain = (from: string, to: string): Operator[] => [{ type: 'Relu', inputs: [from], outputs: [to] }]
  expect((await draftFiles(textPackage(plain))).manifest?.text).not.toHaveProperty('batch')
  expect((await draftFiles(imagePackage(plain))).manifest?.image).not.toHaveProperty('batch')
})

test('a copy in another precision is opened only if its original cannot be', async () => {
  const whole = smallGraph({ inputs: [feature('sum')], operators: [sigmoid] })
  const broken = Buffer.from('PK not a graph')
  const draft = await draftFiles(
    { 'head-fp16.onnx': broken, 'head.onnx': whole, 'head_int8.onnx': broken },
    'up',
  )
  expect(draft.manifest?.head).toMatchObject({ file: 'head.onnx' })
  expect(draft.unused).toEqual([
    'head-fp16.onnx: by its name head.onnx in another precision or optimisation',
    'head_int8.onnx: by its name head.onnx in another precision or optimisation',
  ])
  const other = await draftFiles({ 'head.onnx': broken, 'head_int8.onnx': whole }, 'up')
  expect(other.manifest?.head).toMatchObject({ file: 'head_int8.onnx' })
})

test.each([
  ['texts', ['cat', '등산'], { galleries: ['cat', '등산'] }, []],
  [
    'an item that is no text, without which the others would have other indexes',
    ['cat', 7, '등산'],
    null,
    ['galleries'],
  ],
  ['no list', { cat: 1 }, null, ['galleries']],
])('a galleries.json with %s', async (_, content, manifest, needed) => {
  const draft = await draftFiles({
    'p_views.onnx': galleryGraph(['N', 1]),
    'galleries.json': JSON.stringify(content),
  })
  expect(needs(draft)).toEqual(needed)
  if (manifest !== null) expect(draft.manifest).toMatchObject(manifest)
})
