/** Trial runs of an encoder with outputs of several kinds. */
import { expect, test } from 'vitest'
import type { TrialGraph } from './trial-graph.js'
import { tryEncoder, type EncoderRows } from './encoder-trial.js'

/** Inputs [count, 1] with the number of each row. */
const rows: EncoderRows = {
  inputs: (first, count) => [
    {
      name: 'x',
      dims: [count, 1],
      type: 'float32',
      values: Float32Array.from({ length: count }, (_, i) => first + i),
    },
  ],
  output: (outputs, count) => outputs.find(({ dims }) => dims[0] === count),
}

/** Returns a constant of one row, then a vector for each row. */
function graphOf(vectorOf: (row: number, count: number) => number): TrialGraph {
  return {
    entry: { file: 'model.onnx', sha256: '' },
    ports: { inputs: [], outputs: [] },
    run: ([input]) => {
      const numbers = [...input!.values]
      const values = Float32Array.from(numbers, (row) => vectorOf(row, numbers.length))
      return Promise.resolve([
        { name: 'scale', dims: [1, 3], values: new Float32Array(3) },
        { name: 'embeds', dims: [numbers.length, 1], values },
      ])
    },
    close: () => Promise.resolve(),
  }
}

test('a row alone is compared with the same output, whatever other output has one row', async () => {
  expect(
    await tryEncoder(
      graphOf((row) => row),
      rows,
    ),
  ).toMatchObject({ rows: 2, batchOfOne: null })
  const {
    outputs,
    rows: count,
    batchOfOne,
  } = await tryEncoder(
    graphOf((row, together) => row / together),
    rows,
  )
  expect(batchOfOne).not.toBeNull()
  expect(rows.output(outputs, count)?.name).toBe('embeds')
})
