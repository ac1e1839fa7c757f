/**
 * Graphs that the project writes itself, run by the real runtime: attributes, element types, trees.
 */
import fc from 'fast-check'
import * as ort from 'onnxruntime-node'
import { expect, onTestFinished, test } from 'vitest'
import { writeModel, type Graph, type Operator, type Port } from '../models/onnx-writer.js'
import { treeClassifier, treeRegressor, type Tree } from '../models/tree-ensemble.js'

const features: Port = { name: 'x', shape: ['N', 3] }
const trees: readonly Tree[] = [
  {
    feature: 0,
    mode: 'BRANCH_LEQ',
    threshold: 0.5,
    missing: 'yes',
    yes: { values: [0.25, 1] },
    no: {
      feature: 2,
      mode: 'BRANCH_LT',
      threshold: -1,
      missing: 'no',
      yes: { values: [-0.5, 2] },
      no: { values: [0.75, 4] },
    },
  },
  {
    feature: 1,
    mode: 'BRANCH_LEQ',
    threshold: 0,
    missing: 'no',
    yes: { values: [1, 0] },
    no: { values: [-1, 0] },
  },
]

/** The leaf that a row comes to. */
function leafOf(tree: Tree, row: readonly number[]): readonly number[] {
  if ('values' in tree) return tree.values
  const value = row[tree.feature] ?? NaN
  const below = tree.mode === 'BRANCH_LT' ? value < tree.threshold : value <= tree.threshold
  return leafOf((Number.isNaN(value) ? tree.missing === 'yes' : below) ? tree.yes : tree.no, row)
}

async function run(
  graph: Partial<Graph> & { operators: readonly Operator[]; outputs: readonly Port[] },
  feeds: Record<string, ort.Tensor>,
) {
  const bytes = writeModel({ name: 'g', note: '', inputs: [features], constants: [], ...graph })
  const session = await ort.InferenceSession.create(bytes, { logSeverityLevel: 3 })
  onTestFinished(() => session.release())
  return session.run(feeds)
}

const someRows = [
  [0, 0, 0],
  [0.5, 1, -2],
  [3, -1, -1],
  [3, 5, -1.5],
  [NaN, NaN, NaN],
  [9, 0, NaN],
]
const tensor = (rows: readonly (readonly number[])[]) =>
  new ort.Tensor('float32', Float32Array.from(rows.flat()), [rows.length, 3])

test('a regressor adds the leaves that each row reaches; missing values follow the branch that the tree defines', async () => {
  const base = [0.5, -0.25]
  const operators = [treeRegressor('x', 'y', { trees, base, targetCount: 2 })]
  const outputs = [{ name: 'y', shape: ['N', 2] }]
  const { y } = await run({ operators, outputs }, { x: tensor(someRows) })
  expect([...(y?.data as Float32Array)]).toEqual(
    someRows.flatMap((row) =>
      base.map((start, at) => trees.reduce((sum, tree) => sum + leafOf(tree, row)[at]!, start)),
    ),
  )
})

test('random rows agree with a reference evaluation', async () => {
  const value = fc.oneof(fc.constant(NaN), fc.float({ min: -3, max: 3, noNaN: true }))
  const row = fc.tuple(value, value, value)
  const operators = [treeRegressor('x', 'y', { trees, targetCount: 2 })]
  const bytes = writeModel({
    name: 'g',
    note: '',
    inputs: [features],
    constants: [],
    operators,
    outputs: [{ name: 'y', shape: ['N', 2] }],
  })
  const session = await ort.InferenceSession.create(bytes)
  onTestFinished(() => session.release())
  await fc.assert(
    fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 50 }), async (rows) => {
      const { y } = await session.run({ x: tensor(rows) })
      const expected = rows.map((each) => trees.reduce((sum, tree) => sum + leafOf(tree, each)[1]!, 0))
      expect([...(y?.data as Float32Array)].filter((_, at) => at % 2 === 1)).toEqual(expected)
    }),
  )
})

test('a classifier gives labels and probabilities, and LOGISTIC turns sums into probabilities', async () => {
  const operators = [
    treeClassifier(
      'x',
      { label: 'label', scores: 'scores' },
      { trees, classCount: 2, postTransform: 'SOFTMAX' },
    ),
  ]
  const { label, scores } = await run(
    {
      operators,
      outputs: [
        { name: 'label', shape: ['N'], element: 'int64' },
        { name: 'scores', shape: ['N', 2] },
      ],
    },
    { x: tensor(someRows) },
  )
  expect(label?.data).toBeInstanceOf(BigInt64Array)
  const shares = scores?.data as Float32Array
  someRows.forEach((row, at) => {
    const sums = [0, 1].map((id) => trees.reduce((sum, tree) => sum + leafOf(tree, row)[id]!, 0))
    expect(shares[2 * at + 1]).toBeCloseTo(1 / (1 + Math.exp(sums[0]! - sums[1]!)), 5)
  })
  const logistic = [treeRegressor('x', 'y', { trees, targetCount: 2, postTransform: 'LOGISTIC' })]
  const { y } = await run(
    { operators: logistic, outputs: [{ name: 'y', shape: ['N', 2] }] },
    { x: tensor([[0, 0, 0]]) },
  )
  expect((y?.data as Float32Array)[0]).toBeCloseTo(1 / (1 + Math.exp(-1.25)), 5)
})

test('inputs and outputs may be float64, also at an older opset of ai.onnx.ml', async () => {
  const operators: Operator[] = [
    treeRegressor('x', 'sum', { trees, targetCount: 2 }),
    { type: 'Cast', inputs: ['sum'], outputs: ['y'], attributes: { to: { int: 11 } } },
  ]
  const x = new ort.Tensor('float64', Float64Array.from(someRows.flat()), [someRows.length, 3])
  for (const mlOpset of [1, 3]) {
    const { y } = await run(
      {
        operators,
        mlOpset,
        opset: 15,
        inputs: [{ ...features, element: 'float64' }],
        outputs: [{ name: 'y', shape: ['N', 2], element: 'float64' }],
      },
      { x },
    )
    expect(y?.data).toBeInstanceOf(Float64Array)
    expect((y?.data as Float64Array)[0]).toBe(1.25)
  }
})

test('every kind of attribute and constant is written', async () => {
  const { y, z } = await run(
    {
      inputs: [],
      constants: [
        { name: 'doubles', shape: [2], values: Float64Array.of(1.5, -2.25) },
        { name: 'steps', shape: [2], values: Int32Array.of(7, -7) },
      ],
      operators: [
        // A float, an integer below 0, a tensor and a text.
        { type: 'Softmax', inputs: ['doubles'], outputs: ['y'], attributes: { axis: { int: -1 } } },
        {
          type: 'Constant',
          inputs: [],
          outputs: ['c'],
          attributes: {
            value: { tensor: { name: '', shape: [2], values: BigInt64Array.of(-1n, 2n ** 40n) } },
          },
        },
        { type: 'Cast', inputs: ['steps'], outputs: ['long'], attributes: { to: { int: 7 } } },
        { type: 'Add', inputs: ['c', 'long'], outputs: ['z'] },
      ],
      outputs: [
        { name: 'y', shape: [2], element: 'float64' },
        { name: 'z', shape: [2], element: 'int64' },
      ],
    },
    {},
  )
  expect((y?.data as Float64Array)[0]).toBeCloseTo(1 / (1 + Math.exp(-3.75)), 12)
  expect([...(z?.data as BigInt64Array)]).toEqual([6n, 2n ** 40n - 7n])
})

test('a constant whose values do not fill its shape is refused', () => {
  const constants = [{ name: 'c', shape: [3], values: new Float32Array(2) }]
  expect(() =>
    writeModel({ name: 'g', note: '', inputs: [], outputs: [], operators: [], constants }),
  ).toThrow('c: shape and values disagree')
})
