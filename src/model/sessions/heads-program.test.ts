/**
 * Heads in the real runtime: graphs as training tools export them, and graphs that are refused.
 */
import { describe, expect, test } from 'vitest'
import { silentLog } from '../../base/index.js'
import { column, expectClose, plannedHeads, predict } from '../../../test/helpers/head-plans.js'
import { smallGraph } from '../../../test/helpers/model-packages.js'
import type { Operator } from '../../../models/onnx-writer.js'
import type { HeadGraphPlan } from './plans.js'
import { openHeadsProgram } from './heads-program.js'

const sigmoid = (x: number) => 1 / (1 + Math.exp(-x))
const features = (columnCount: number) => [{ name: 'features', shape: ['N', columnCount] }]
const operator = (type: string, input: string, output: string): Operator => ({
  type,
  inputs: [input],
  outputs: [output],
})

describe('a row for which a graph returns an error', () => {
  /** p_views of a row is a look-up, by its feature, in a table of two rows. */
  const table = smallGraph({
    inputs: features(1),
    outputs: [{ name: 'probs', shape: ['N', 1] }],
    constants: [{ name: 'table', shape: [2], values: Float32Array.of(0.25, 0.5) }],
    operators: [
      { type: 'Cast', inputs: ['features'], outputs: ['index'], attributes: { to: { int: 7 } } },
      { type: 'Gather', inputs: ['table', 'index'], outputs: ['probs'] },
    ],
  })
  const open = () =>
    openHeadsProgram(plannedHeads([{ graph: table, heads: [column('p_views', 'probs')] }]), silentLog)
  const batch = (values: readonly number[]) => ({
    count: values.length,
    matrices: {
      features: Float32Array.from(values),
      text: new Float32Array(0),
      image: new Float32Array(0),
      gallery_index: new Float32Array(0),
    },
  })

  test('is found, and the program runs on', async () => {
    const program = await open()
    const reason = expect.stringMatching(/Gather.*out of data bounds/) as string
    const values = Array.from({ length: 700 }, (_, row) => (row === 613 || row === 650 ? 9 : row % 2))
    expect(await program.run(batch(values))).toEqual({ heads: [], failure: { item: 613, reason } })
    expect(await program.run(batch([7]))).toEqual({ heads: [], failure: { item: 0, reason } })
    const { heads, failure } = await program.run(batch([1, 0]))
    expect([heads, failure]).toEqual([[Float32Array.of(0.5, 0.25)], null])
  })
})

describe('heads', () => {
  test('of one graph come from its outputs and columns, in the order of the plan', async () => {
    const graph = smallGraph({
      inputs: features(2),
      outputs: [
        { name: 'pair', shape: ['N', 2] },
        { name: 'single', shape: ['N'] },
      ],
      constants: [{ name: 'second', shape: [2], values: Float32Array.of(0, 1) }],
      operators: [
        operator('Sigmoid', 'features', 'pair'),
        { type: 'MatMul', inputs: ['pair', 'second'], outputs: ['single'] },
      ],
    })
    const plan = plannedHeads([
      {
        graph,
        heads: [column('p_up', 'pair', 1), column('p_views', 'pair', 0), column('downvote_share', 'single')],
      },
    ])
    const heads = await predict(
      { ...plan, widths: { features: 2, text: 0, image: 0, gallery_index: 0 } },
      2,
      {
        features: [1, 2, 3, 4],
      },
    )
    expectClose(heads, [
      [sigmoid(2), sigmoid(4)],
      [sigmoid(1), sigmoid(3)],
      [sigmoid(2), sigmoid(4)],
    ])
  })

  test('of several graphs come from the graph that computes them, each with its own inputs', async () => {
    const of = (name: string, columnCount: number) =>
      smallGraph({
        inputs: [{ name, shape: ['N', columnCount] }],
        operators: [
          {
            type: 'ReduceSum',
            inputs: [name, 'axes'],
            outputs: ['sum'],
            attributes: { keepdims: { int: 0 } },
          },
          operator('Sigmoid', 'sum', 'probs'),
        ],
        constants: [{ name: 'axes', shape: [1], values: BigInt64Array.of(1n) }],
        outputs: [{ name: 'probs', shape: ['N'] }],
      })
    const plan = plannedHeads([
      { graph: of('numbers', 1), inputs: { features: 'numbers' }, heads: [column('p_views', 'probs')] },
      { graph: of('words', 3), inputs: { text: 'words' }, heads: [column('p_up', 'probs')] },
      { graph: of('images', 2), inputs: { image: 'images' }, heads: [column('p_comments', 'probs')] },
    ])
    const heads = await predict(
      { ...plan, widths: { features: 1, text: 3, image: 2, gallery_index: 0 } },
      2,
      {
        features: [1, 2],
        text: [0, 0, 1, 1, 1, 1],
        image: [-1, -1, 0, 0],
      },
    )
    expectClose(heads, [
      [sigmoid(1), sigmoid(2)],
      [sigmoid(1), sigmoid(3)],
      [sigmoid(-2), sigmoid(0)],
    ])
  })

  test.each(['float64', 'float16'] as const)('in %s are converted', async (element) => {
    const graph = smallGraph({
      inputs: [{ name: 'features', shape: ['N', 1], element }],
      outputs: [{ name: 'probs', shape: ['N', 1], element }],
      operators: [operator('Sigmoid', 'features', 'probs')],
    })
    const [values] = await predict(plannedHeads([{ graph }]), 2, { features: [0.5, -3] })
    // Of halves between 0.5 and 1, two neighbours differ by 2 ** -11.
    const tolerance = element === 'float16' ? 2 ** -11 : 1e-7
    expect(Math.abs((values?.[0] ?? NaN) - sigmoid(0.5))).toBeLessThan(tolerance)
    expect(Math.abs((values?.[1] ?? NaN) - sigmoid(-3))).toBeLessThan(tolerance)
  })

  test('of a tree ensemble follow the default branch for a missing value', async () => {
    // One split at 0.5: 0.2 below it, 0.8 above it, and a missing value goes the way of `true`.
    const graph = smallGraph({
      inputs: features(1),
      outputs: [{ name: 'probs', shape: ['N', 1] }],
      operators: [
        {
          type: 'TreeEnsembleRegressor',
          domain: 'ai.onnx.ml',
          inputs: ['features'],
          outputs: ['probs'],
          attributes: {
            n_targets: { int: 1 },
            nodes_treeids: { ints: [0, 0, 0] },
            nodes_nodeids: { ints: [0, 1, 2] },
            nodes_featureids: { ints: [0, 0, 0] },
            nodes_modes: { texts: ['BRANCH_LEQ', 'LEAF', 'LEAF'] },
            nodes_values: { floats: [0.5, 0, 0] },
            nodes_truenodeids: { ints: [1, 0, 0] },
            nodes_falsenodeids: { ints: [2, 0, 0] },
            nodes_missing_value_tracks_true: { ints: [1, 0, 0] },
            target_treeids: { ints: [0, 0] },
            target_nodeids: { ints: [1, 2] },
            target_ids: { ints: [0, 0] },
            target_weights: { floats: [0.2, 0.8] },
          },
        },
      ],
    })
    expectClose(await predict(plannedHeads([{ graph }]), 3, { features: [0, 1, NaN] }), [[0.2, 0.8, 0.2]])
  })

  test.each([
    ['sigmoid', [sigmoid(-2), sigmoid(0.25), sigmoid(3)]],
    ['clip', [0, 0.25, 1]],
    ['none', [-2, 0.25, 3]],
  ] as const)('with activation %s apply it to each value', async (activation, expected) => {
    const graph = smallGraph({ operators: [operator('Identity', 'features', 'probs')] })
    const plan = plannedHeads([{ graph, heads: [column('p_views', 'probs', 0, { activation })] }])
    expectClose(await predict(plan, 3, { features: [-2, 0.25, 3] }), [expected])
  })

  test.each(['sigmoid', 'clip'] as const)(
    'with activation %s keep values that are not finite',
    async (activation) => {
      const graph = smallGraph({ operators: [operator('Identity', 'features', 'probs')] })
      const plan = plannedHeads([{ graph, heads: [column('p_views', 'probs', 0, { activation })] }])
      const [values] = await predict(plan, 3, { features: [NaN, Infinity, -Infinity] })
      expect([...values!]).toEqual([NaN, Infinity, -Infinity])
    },
  )

  test('of each graph run on the first provider that can, and the log names those before it', async () => {
    const graph = smallGraph({ operators: [operator('Sigmoid', 'features', 'probs')] })
    const plan = plannedHeads([{ graph, providers: ['abacus', 'cpu'] }])
    const lines: string[] = []
    const warn = (_: object, message: string): void => void lines.push(message)
    const program = await openHeadsProgram(plan, { ...silentLog, warn })
    expect(program.placements).toMatchObject([
      { provider: 'cpu', refused: [expect.stringMatching(/^abacus: this ONNX/)], nodes: null },
    ])
    expect(lines).toEqual([
      expect.stringMatching(
        /^execution provider abacus cannot serve .*head0\.onnx: this ONNX Runtime supports only .*cpu/,
      ),
    ])
  })
})

describe('a graph is refused when', () => {
  const refused = async (graph: Uint8Array, change: Partial<HeadGraphPlan>, message: RegExp) => {
    await expect(predict(plannedHeads([{ graph, ...change }]), 2, {})).rejects.toThrow(message)
  }
  const identity = smallGraph({ operators: [operator('Identity', 'features', 'probs')] })

  test.each<[string, Uint8Array, Partial<HeadGraphPlan>, RegExp]>([
    [
      'an input is of integers',
      smallGraph({
        inputs: [{ name: 'features', shape: ['N', 1], element: 'int64' }],
        operators: [{ ...operator('Cast', 'features', 'probs'), attributes: { to: { int: 1 } } }],
      }),
      {},
      /head0\.onnx: input features must be float32, float64 or float16 \[N, 1\], but is int64 \[N, 1\]$/,
    ],
    [
      'it has an input that the plan does not have',
      smallGraph({
        inputs: [...features(1), { name: 'more', shape: ['N', 1] }],
        operators: [{ type: 'Add', inputs: ['features', 'more'], outputs: ['probs'] }],
      }),
      {},
      /: the manifest does not name the graph's input more$/,
    ],
    [
      'it lacks an input of the plan',
      identity,
      { inputs: { features: 'numbers' } },
      /: it has no input numbers; its inputs are features; the manifest does not name the graph's input features$/,
    ],
    [
      'an input has more than two dimensions',
      smallGraph({
        inputs: [{ name: 'features', shape: ['N', 1, 1] }],
        operators: [operator('Identity', 'features', 'probs')],
        outputs: [{ name: 'probs', shape: ['N', 1, 1] }],
      }),
      {},
      /input features must be float32, float64 or float16 \[N, 1\], but is float32 \[N, 1, 1\]/,
    ],
    [
      'an output has more than two dimensions',
      smallGraph({
        operators: [{ type: 'Unsqueeze', inputs: ['features', 'axes'], outputs: ['probs'] }],
        constants: [{ name: 'axes', shape: [1], values: BigInt64Array.of(2n) }],
        outputs: [{ name: 'probs', shape: ['N', 1, 1] }],
      }),
      {},
      /: output probs must be float32, float64 or float16, \[N\] or \[N, columns\], but is float32 \[N, 1, 1\]: set squeeze for this output$/,
    ],
    [
      'an output is of labels',
      smallGraph({
        operators: [{ ...operator('Cast', 'features', 'probs'), attributes: { to: { int: 7 } } }],
        outputs: [{ name: 'probs', shape: ['N', 1], element: 'int64' }],
      }),
      {},
      /: output probs must be float32, float64 or float16, .* but is int64 \[N, 1\]$/,
    ],
    [
      'its file does not exist',
      identity,
      { file: '/nowhere/head.onnx' },
      /^\/nowhere\/head.onnx does not exist$/,
    ],
    [
      'its file has another hash',
      identity,
      { sha256: '0'.repeat(64) },
      /head0.onnx has SHA-256 [0-9a-f]{64}; the manifest states 0{64}$/,
    ],
  ])('%s', (_, graph, change, message) => refused(graph, change, message))

  test('its probabilities are a sequence of maps, as skl2onnx writes them by default', async () => {
    // features [N, 2] → ZipMap → probabilities. As bytes, since the writer of this project knows tensors only.
    const graph = Buffer.from(
      'CAg6jQEKSgoIZmVhdHVyZXMSDXByb2JhYmlsaXRpZXMiBlppcE1hcCobChJjbGFzc2xhYmVsc19pbnQ2NHNAAEABoAEHOgphaS5vbm54Lm1sEgFn' +
        'WhsKCGZlYXR1cmVzEg8KDQgBEgkKAxIBTgoCCAJiHwoNcHJvYmFiaWxpdGllcxIOIgwKCioICAcSBAoCCAFCBAoAEBFCDgoKYWkub25ueC5tbBAB',
      'base64',
    )
    const plan = plannedHeads([{ graph, heads: [column('p_views', 'probabilities', 1)] }])
    await expect(
      predict({ ...plan, widths: { features: 2, text: 0, image: 0, gallery_index: 0 } }, 2, {}),
    ).rejects.toThrow(/: output probabilities must be a tensor: .* options=\{"zipmap": False\}/)
  })

  test('it returns another number of rows', async () => {
    // Each row twice. The dimension is free, so the first batch shows it.
    const graph = smallGraph({
      operators: [
        {
          type: 'Concat',
          inputs: ['features', 'features'],
          outputs: ['probs'],
          attributes: { axis: { int: 0 } },
        },
      ],
    })
    await refused(graph, {}, /^output probs has the shape \[4,1\] for a batch of 2 rows$/)
  })
})
