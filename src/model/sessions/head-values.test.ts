/**
 * Heads of outputs that are not columns of shares: logits, regressors, other layouts. Small graphs in the real runtime.
 */
import { describe, expect, test } from 'vitest'
import { smallGraph } from '../../../test/helpers/model-packages.js'
import { column, expectClose, plannedHeads, predict } from '../../../test/helpers/head-plans.js'
import type { HeadColumn } from './head-ports.js'

const sigmoid = (x: number) => 1 / (1 + Math.exp(-x))

/** `probs` is `features` [N, columns] in another shape: `shape` as Reshape takes it, after a transposition if there is one. */
function reshaped(
  columnCount: number,
  declared: readonly (number | string)[],
  { shape, isTransposed = false }: { shape?: readonly number[]; isTransposed?: boolean },
): Uint8Array {
  const source = isTransposed ? 'turned' : 'features'
  return smallGraph({
    inputs: [{ name: 'features', shape: ['N', columnCount] }],
    outputs: [{ name: 'probs', shape: declared }],
    constants: [
      { name: 'shape', shape: [shape?.length ?? 1], values: BigInt64Array.from(shape ?? [0], BigInt) },
    ],
    operators: [
      ...(isTransposed ? [{ type: 'Transpose', inputs: ['features'], outputs: ['turned'] }] : []),
      shape === undefined
        ? { type: 'Identity', inputs: [source], outputs: ['probs'] }
        : { type: 'Reshape', inputs: [source, 'shape'], outputs: ['probs'] },
    ],
  })
}

/** p_up from column `number`, for rows of `columnCount` values each. */
async function headsOf(
  graph: Uint8Array,
  columnCount: number,
  number: number | null,
  changes: Partial<Omit<HeadColumn, 'head' | 'output' | 'column'>>,
  rows: readonly (readonly number[])[],
): Promise<readonly Float32Array[]> {
  const plan = plannedHeads([{ graph, heads: [column('p_up', 'probs', number, changes)] }])
  const widths = { features: columnCount, text: 0, image: 0, gallery_index: 0 }
  return predict({ ...plan, widths }, rows.length, { features: rows.flat() })
}

test('the last column of an output is read, and the one after it is not there', async () => {
  const graph = reshaped(3, ['N', 3], {})
  const rows = [
    [0.1, 0.2, 0.3],
    [0.4, 0.5, 0.6],
  ]
  expectClose(await headsOf(graph, 3, 2, {}, rows), [[0.3, 0.6]])
  await expect(headsOf(graph, 3, 3, {}, rows)).rejects.toThrow('output probs has no column 3 for p_up')
})

test('a softmax of large logits is a share, wherever the largest of them is', async () => {
  const graph = reshaped(3, ['N', 3], {})
  const rows = [
    [1000, 0, 0],
    [0, 1000, 0],
    [0, 0, 1000],
    [-1000, -1000, -1000],
  ]
  expectClose(await headsOf(graph, 3, 0, { activation: 'softmax' }, rows), [[1, 0, 0, 1 / 3]])
})

describe('a head of two logits is the softmax of its column', () => {
  const plain = reshaped(2, ['N', 2], {})
  const rows = [
    [1, 3],
    [0, 0],
    [-4, 2.5],
  ]
  const expected = [sigmoid(2), 0.5, sigmoid(6.5)]

  test('of the output [N, 2]', async () => {
    expectClose(await headsOf(plain, 2, 1, { activation: 'softmax' }, rows), [expected])
    const others = expected.map((share) => 1 - share)
    expectClose(await headsOf(plain, 2, 0, { activation: 'softmax' }, rows), [others])
  })

  test('of logits that overflow as powers', async () => {
    const large = rows.map((row) => row.map((value) => value + 1e4))
    expectClose(await headsOf(plain, 2, 1, { activation: 'softmax' }, large), [
      [sigmoid(2), 0.5, sigmoid(6.5)],
    ])
  })

  test('of scaled logits: a temperature', async () => {
    const heads = await headsOf(plain, 2, 1, { activation: 'softmax', scale: 0.5 }, rows)
    expectClose(heads, [[sigmoid(1), 0.5, sigmoid(3.25)]])
  })

  test('of an output [2, N]', async () => {
    const turned = reshaped(2, [2, 'N'], { isTransposed: true })
    expectClose(await headsOf(turned, 2, 1, { activation: 'softmax', transposed: true }, rows), [expected])
  })

  test('and NaN if a logit is', async () => {
    const [values] = await headsOf(plain, 2, 1, { activation: 'softmax' }, [[NaN, 1]])
    expect(values?.[0]).toBeNaN()
  })
})

test('a head of three logits is the softmax over all three', async () => {
  const logits = [1, 2, 3]
  const sum = logits.reduce((total, logit) => total + Math.exp(logit), 0)
  const heads = await headsOf(reshaped(3, ['N', 3], {}), 3, 1, { activation: 'softmax' }, [logits])
  expectClose(heads, [[Math.exp(2) / sum]])
})

test.each<[string, Partial<HeadColumn>, readonly number[]]>([
  ['scaled', { scale: 0.01 }, [0.25, 1.5]],
  ['moved', { offset: 0.5 }, [25.5, 150.5]],
  ['scaled, then moved, then clipped', { scale: 0.01, offset: -0.1, activation: 'clip' }, [0.15, 1]],
  ['turned around', { scale: -0.001, offset: 1 }, [0.975, 0.85]],
  ['a calibrated logit', { scale: 0.1, offset: -2, activation: 'sigmoid' }, [sigmoid(0.5), sigmoid(13)]],
])('a regressor is %s', async (_, changes, expected) => {
  expectClose(await headsOf(reshaped(1, ['N', 1], {}), 1, 0, changes, [[25], [150]]), [expected])
})

describe('an output is read as the manifest describes it:', () => {
  const rows = [
    [0.1, 0.2, 0.3],
    [0.4, 0.5, 0.6],
  ]
  const second = [[0.2, 0.5]]

  test.each<[string, Uint8Array, Partial<HeadColumn>]>([
    ['[N, 1, 3]', reshaped(3, ['N', 1, 3], { shape: [-1, 1, 3] }), { squeeze: true }],
    ['[N, 3, 1, 1]', reshaped(3, ['N', 3, 1, 1], { shape: [-1, 3, 1, 1] }), { squeeze: true }],
    ['[N, 1, 3] with a free middle', reshaped(3, ['N', 'M', 3], { shape: [-1, 1, 3] }), { squeeze: true }],
    ['[3, N]', reshaped(3, [3, 'N'], { isTransposed: true }), { transposed: true }],
    [
      '[3, 1, N]',
      reshaped(3, [3, 1, 'N'], { isTransposed: true, shape: [3, 1, -1] }),
      { transposed: true, squeeze: true },
    ],
  ])('%s', async (_, graph, changes) => {
    expectClose(await headsOf(graph, 3, 1, changes, rows), second)
    // The size of the batch is no dimension to be removed.
    expectClose(await headsOf(graph, 3, 1, changes, rows.slice(0, 1)), [[0.2]])
  })

  test('[1, N] of one head', async () => {
    const graph = reshaped(1, [1, 'N'], { isTransposed: true })
    expectClose(await headsOf(graph, 1, null, { transposed: true }, [[0.1], [0.2], [0.3]]), [[0.1, 0.2, 0.3]])
  })

  test.each<[string, Uint8Array, string]>([
    [
      '[3, N]',
      reshaped(3, ['N', 3], { isTransposed: true }),
      'output probs has the shape [3,2] for a batch of 2 rows: set transposed for p_up',
    ],
    [
      '[N, 1, 3], declared as [N, 3]',
      reshaped(3, ['N', 3], { shape: [-1, 1, 3] }),
      'output probs has the shape [2,1,3] for a batch of 2 rows: set squeeze for p_up',
    ],
  ])('%s is refused without it, and the message names the member', async (_, graph, message) => {
    await expect(headsOf(graph, 3, 1, {}, rows)).rejects.toThrow(message)
  })
})
