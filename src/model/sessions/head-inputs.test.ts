/**
 * Heads whose graphs take their inputs in other parts than a matrix of any number of rows: one input per feature, and runs of a
 * fixed number of rows. Small graphs in the real runtime.
 */
import { describe, expect, test } from 'vitest'
import type { ElementType, Port } from '../../../models/onnx-writer.js'
import { elementTypes } from '../../../models/onnx-writer.js'
import { smallGraph } from '../../../test/helpers/model-packages.js'
import { silentLog } from '../../base/index.js'
import { openHeadsProgram } from './heads-program.js'
import { column, expectClose, plannedHeads, predict } from '../../../test/helpers/head-plans.js'

const widths = { features: 3, text: 0, image: 0, gallery_index: 0 }
const inputs = { features: ['views', 'up', 'age'] }
const rows = [
  [1, 20, 300],
  [4, 50, 600],
]

/** `probs` [N, 1] is views / 10 + up / 100 + age / 1000, each of its own input; `shape` and `element` of the input by name. */
function columnsGraph(
  shapeOf: (name: string) => Port['shape'] = () => ['N', 1],
  elementOf: (name: string) => ElementType = () => 'float32',
): Uint8Array {
  const share = (name: string, factor: number) => [
    { type: 'Reshape', inputs: [name, 'shape'], outputs: [`${name}.column`] },
    {
      type: 'Cast',
      inputs: [`${name}.column`],
      outputs: [`${name}.float`],
      attributes: { to: { int: elementTypes.float32 } },
    },
    { type: 'Mul', inputs: [`${name}.float`, `factor.${factor}`], outputs: [`${name}.share`] },
  ]
  return smallGraph({
    inputs: inputs.features.map((name) => ({ name, shape: shapeOf(name), element: elementOf(name) })),
    constants: [
      { name: 'shape', shape: [2], values: BigInt64Array.of(-1n, 1n) },
      ...[0.1, 0.01, 0.001].map((factor) => ({
        name: `factor.${factor}`,
        shape: [1],
        values: Float32Array.of(factor),
      })),
    ],
    operators: [
      ...share('views', 0.1),
      ...share('up', 0.01),
      ...share('age', 0.001),
      { type: 'Sum', inputs: ['views.share', 'up.share', 'age.share'], outputs: ['probs'] },
    ],
  })
}

describe('a graph with one input per feature gets its columns', () => {
  test.each<[string, Uint8Array]>([
    ['as [N, 1]', columnsGraph()],
    ['as [N]', columnsGraph(() => ['N'])],
    ['in both forms', columnsGraph((name) => (name === 'up' ? ['N'] : ['N', 1]))],
    ['of several types', columnsGraph(undefined, (name) => (name === 'up' ? 'float64' : 'float16'))],
    ['as integers', columnsGraph(undefined, (name) => (name === 'up' ? 'int32' : 'int64'))],
  ])('%s', async (_, graph) => {
    const plan = plannedHeads([{ graph, inputs }])
    expectClose(await predict({ ...plan, widths }, 2, { features: rows.flat() }), [[0.6, 1.5]])
  })

  test('in the order of the features', async () => {
    const plan = plannedHeads([{ graph: columnsGraph(), inputs: { features: ['age', 'up', 'views'] } }])
    expectClose(await predict({ ...plan, widths }, 1, { features: [300, 20, 1] }), [[0.6]])
  })

  test('but no missing value as an integer', async () => {
    const graph = columnsGraph(undefined, (name) => (name === 'up' ? 'int64' : 'float32'))
    const plan = { ...plannedHeads([{ graph, inputs }]), widths }
    const program = await openHeadsProgram(plan, silentLog)
    const none = new Float32Array(0)
    const matrices = {
      features: Float32Array.of(1, 2, 3, 1, NaN, 3),
      text: none,
      image: none,
      gallery_index: none,
    }
    const reason = 'an input of type int64 cannot take a missing value: export it as float'
    expect(await program.run({ count: 2, matrices })).toEqual({ heads: [], failure: { item: 1, reason } })
  })
})

test.each<[string, Port['shape']]>([
  ['stated', ['N', 2]],
  ['free', ['N', 'k']],
])('a graph with parts of the features gets the columns of each, whose number is %s', async (_, shape) => {
  const graph = smallGraph({
    inputs: [
      { name: 'age', shape: ['N', 1] },
      { name: 'num', shape },
    ],
    constants: [{ name: 'factors', shape: [2, 1], values: Float32Array.of(0.1, 0.01) }],
    operators: [
      { type: 'MatMul', inputs: ['num', 'factors'], outputs: ['sum'] },
      { type: 'Mul', inputs: ['sum', 'age'], outputs: ['probs'] },
    ],
  })
  for (const [names, values] of [
    [
      ['num', 'age'],
      [1, 2, 0.5, 3, 4, 0.25],
    ],
    [
      ['age', 'num'],
      [0.5, 1, 2, 0.25, 3, 4],
    ],
  ] as const) {
    const plan = plannedHeads([{ graph, inputs: { features: names } }])
    expectClose(await predict({ ...plan, widths }, 2, { features: values }), [[0.06, 0.085]])
  }
})

describe('a graph that states its batch runs with so many rows', () => {
  /** `probs` is the share of a row's feature among those of its run, so it shows which rows ran together. */
  const shareOfRun = (shape: Port['shape']) =>
    smallGraph({
      inputs: [{ name: 'features', shape }],
      outputs: [{ name: 'probs', shape }],
      constants: [{ name: 'axes', shape: [1], values: BigInt64Array.of(0n) }],
      operators: [
        { type: 'ReduceSum', inputs: ['features', 'axes'], outputs: ['sum'] },
        { type: 'Div', inputs: ['features', 'sum'], outputs: ['probs'] },
      ],
    })
  const of = (shape: Port['shape'], batch: number) =>
    plannedHeads([{ graph: shareOfRun(shape), batch, heads: [column('p_views', 'probs')] }])
  const features = [1, 3, 2, 6, 5]

  test.each<[string, Port['shape']]>([
    ['of a fixed size', [2, 1]],
    ['of any size', ['N', 1]],
  ])('%s: the last row fills up the last run', async (_, shape) => {
    expectClose(await predict(of(shape, 2), 5, { features }), [[0.25, 0.75, 0.25, 0.75, 0.5]])
  })

  test('and it is the last row of the last run, not its first one', async () => {
    expectClose(await predict(of([3, 1], 3), 5, { features }), [[1 / 6, 1 / 2, 1 / 3, 6 / 16, 5 / 16]])
  })

  test('one at a time', async () => {
    expectClose(await predict(of([1, 1], 1), 5, { features }), [[1, 1, 1, 1, 1]])
  })

  test('and is refused with another number, with the way out', async () => {
    await expect(predict(of([2, 1], 3), 5, { features })).rejects.toThrow(
      'input features must be float32, float64 or float16 [3, 1], but is float32 [2, 1]: set batch to 2 for this graph in the ' +
        'manifest, or export its first dimension as dynamic',
    )
  })

  test('beside another graph that takes all rows at once', async () => {
    const whole = plannedHeads([{ graph: shareOfRun(['N', 1]), heads: [column('p_up', 'probs')] }])
    const both = of([1, 1], 1)
    const plan = {
      ...both,
      graphs: [...both.graphs, ...whole.graphs],
      heads: [...both.heads, ...whole.heads],
    }
    expectClose(await predict(plan, 2, { features: [1, 3] }), [
      [1, 1],
      [0.25, 0.75],
    ])
  })
})
