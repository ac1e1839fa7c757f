/**
 * Which graph is what, what its inputs are, and which head each of its outputs is.
 */
import { expect, test } from 'vitest'
import type { Port } from '../sessions/ports.js'
import type { TrialOutput } from '../sessions/trial-runs.js'
import { draftHeads, type HeadGraph } from './draft-heads.js'
import { Findings } from './findings.js'
import { kindOf, originalOf, preferredEncoder } from './graph-kinds.js'
import { draftInputs } from './head-inputs.js'
import { trialRows } from './trial-batch.js'

const port = (name: string, shape: Port['shape'], dtype = 'float32'): Port => ({ name, dtype, shape })

test.each([
  ['head', [port('x', ['N', 4]), port('text', ['N', 384], 'float64')]],
  ['text', [port('input_ids', ['N', 'tokens'], 'int64'), port('attention_mask', ['N', 'tokens'], 'int64')]],
  ['image', [port('pixel_values', ['N', 3, 224, 224])]],
  ['image', [port('image', ['N', 'height', 'width', 3])]],
  [null, [port('input_ids', ['N', 'tokens'], 'int64'), port('pixel_values', ['N', 3, 224, 224])]],
  [null, [port('audio', ['N', 80, 3000])]],
  [null, []],
])('a graph is %s by its inputs', (kind, inputs) => {
  expect(kindOf({ inputs, outputs: [] })).toBe(kind)
})

test('copies in another precision are neither heads of their own nor the encoder', () => {
  const files = ['head.onnx', 'head_int8.onnx', 'p_up.onnx', 'onnx/model_quantized.onnx']
  expect(files.map((file) => originalOf(file, files))).toEqual([null, 'head.onnx', null, null])
  const encoders = [
    'onnx/model_O4.onnx',
    'onnx/model_qint8_avx512.onnx',
    'onnx/model.onnx',
    'onnx/other.onnx',
  ]
  expect(preferredEncoder(encoders, (file) => file)).toBe('onnx/model.onnx')
})

test.each([
  [
    'by name',
    [port('features', ['N', 4]), port('title_embedding', ['N', 8])],
    { features: 'features', text: 'title_embedding' },
  ],
  [
    'by width',
    [port('b', ['N', 4]), port('a', ['N', 8]), port('c', ['N', 16])],
    { features: 'b', text: 'a', image: 'c' },
  ],
  ['the only input as features', [port('X', ['N', 4])], { features: 'X' }],
  [
    'one for each feature',
    [port('views', ['N', 1]), port('up', ['N'], 'int64'), port('text', ['N', 8])],
    { features: ['views', 'up'], text: 'text' },
  ],
  [
    'of a gallery by name, not as a feature',
    [port('views', ['N', 1]), port('gall_id', ['N', 1], 'int64'), port('up', ['N'])],
    { features: ['views', 'up'], gallery_index: 'gall_id' },
  ],
  [
    'as features of the catalogue, although they are about a gallery',
    [port('gallery_main', ['N', 1]), port('gallery_minor', ['N', 1])],
    { features: ['gallery_main', 'gallery_minor'] },
  ],
])('inputs are found %s', (_, ports, expected) => {
  expect(draftInputs(ports, { text: 8, image: 16 }, 'head', new Findings())).toEqual(expected)
})

test('inputs without a meaning are needed', () => {
  const needs = (ports: Port[]): string[] => {
    const findings = new Findings()
    expect(draftInputs(ports, { text: 0, image: 0 }, 'head', findings)).toBeNull()
    return findings.list.filter(({ state }) => state === 'needed').map(({ source }) => source)
  }
  expect(needs([port('features', ['N', 4]), port('text', ['N', 8])])).toEqual([
    expect.stringMatching(/^nothing here has values for text: /),
  ])
})

/** A graph with outputs of such sizes; values rise from 0 to 1 within each row. */
function drafted(file: string, outputs: Readonly<Record<string, readonly number[]>>) {
  const owner: HeadGraph = {
    graph: {
      entry: { file, sha256: '' },
      ports: { inputs: [], outputs: [] },
      run: () => Promise.resolve([]),
      close: () => Promise.resolve(),
    },
    member: 'head',
    inputs: {},
    isRunnable: true,
    batchOfOne: null,
  }
  const results = Object.entries(outputs).map(([name, dims]): TrialOutput => {
    const count = dims.reduce((product, size) => product * size, 1)
    return { name, dims, values: Float32Array.from({ length: count }, (_, index) => (index % 7) / 8) }
  })
  const findings = new Findings()
  const [head] = draftHeads([owner], [results], findings)
  return { outputs: head?.outputs, needs: findings.list.filter(({ state }) => state === 'needed') }
}

const N = trialRows

test.each([
  [
    'exact names, whatever else it computes',
    { hidden: [N, 3], p_up: [N], p_views: [N, 1] },
    { p_up: { name: 'p_up' }, p_views: { name: 'p_views' } },
  ],
  [
    'names in other words',
    { prob_comments: [N, 1], prob_downvotes: [N, 1] },
    { p_comments: { name: 'prob_comments' }, downvote_share: { name: 'prob_downvotes' } },
  ],
  [
    'the order of the contract',
    { probs: [N, 3] },
    {
      p_views: { name: 'probs', column: 0 },
      p_comments: { name: 'probs', column: 1 },
      p_up: { name: 'probs', column: 2 },
    },
  ],
  [
    'outputs of a column each',
    { prob_a: [N, 1], prob_b: [N] },
    { p_views: { name: 'prob_a' }, p_comments: { name: 'prob_b' } },
  ],
  ['a probability rather than a logit', { logits: [N, 1], probs: [N, 1] }, { p_views: { name: 'probs' } }],
  [
    'a shape with a dimension of 1',
    { probs: [N, 1, 2] },
    {
      p_views: { name: 'probs', squeeze: true, column: 0 },
      p_comments: { name: 'probs', squeeze: true, column: 1 },
    },
  ],
  [
    'a transposed shape',
    { probs: [2, N] },
    {
      p_views: { name: 'probs', transposed: true, column: 0 },
      p_comments: { name: 'probs', transposed: true, column: 1 },
    },
  ],
])('heads are found by %s', (_, outputs, expected) => {
  const { outputs: heads, needs } = drafted('head.onnx', outputs)
  expect(heads).toEqual(expected)
  expect(needs).toEqual([])
})

test('a file that is named as a head is that head', () => {
  expect(drafted('p_comments.onnx', { probs: [N, 1] }).outputs).toEqual({ p_comments: { name: 'probs' } })
})

test('more values than heads, and outputs without a value for each row, are needed', () => {
  expect(drafted('head.onnx', { probs: [N, 6] }).needs.map(({ member }) => member)).toEqual(['head.outputs'])
  expect(drafted('head.onnx', { probs: [1, 5, 5] }).needs.map(({ member }) => member)).toEqual([
    'head.outputs',
  ])
})
