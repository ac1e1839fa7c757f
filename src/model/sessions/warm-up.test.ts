/** The first batches of new heads: what their errors are taken for. */
import { describe, expect, test } from 'vitest'
import { GraphError, ModelDownError, ModelError } from '../model.js'
import { explainHiddenBatch } from './hidden-batch.js'
import { warmUpHeads } from './warm-up.js'

const graph = { file: 'head.onnx', sha256: '', inputs: {}, heads: [] }
const plan = { heads: ['p_up'], graphs: [graph] } as unknown as Parameters<typeof warmUpHeads>[1]
const fixed = { ...plan, graphs: [{ ...graph, batch: 1 }] } as unknown as typeof plan

/** Heads that run fewer rows than `count`, and fail with `error` from there on. */
const failingFrom =
  (count: number, error: Error): Parameters<typeof warmUpHeads>[0] =>
  (rows) =>
    rows.count < count ? Promise.resolve([new Float32Array(rows.count)]) : Promise.reject(error)

describe('a warm-up', () => {
  test('reports a hidden batch of one when the graph returns an error for two rows and none for one', async () => {
    const error = new GraphError('the input has 3 elements')
    await expect(warmUpHeads(failingFrom(2, error), plan)).rejects.toThrow(
      /^a hidden batch of one: the graph runs one row .* Set batch to 1 .*: the input has 3 elements$/,
    )
    await expect(warmUpHeads(failingFrom(2, error), fixed)).rejects.toBe(error)
  })

  test.each([
    ['a time limit', new ModelError('a batch of 3 rows took longer than its time limit of 1 ms')],
    [
      'a limit of memory',
      new ModelError('the process of the model uses 5 GiB of memory; the limit is 4 GiB'),
    ],
    ['a lost process', new ModelError('the process of the model was ended by SIGKILL')],
    ['a process that was closed', new ModelDownError('the model is closed')],
    [
      'memory that the graph cannot allocate',
      new GraphError('Failed to allocate memory for requested buffer'),
    ],
    ['memory of a device', new GraphError('CUDA failure 2: out of memory')],
  ])('passes on %s as it is, at any number of rows', async (_, error) => {
    for (const count of [1, 2, 200])
      await expect(warmUpHeads(failingFrom(count, error), plan)).rejects.toBe(error)
  })

  test('passes on an error for many rows of a graph that runs a few', async () => {
    const error = new GraphError('the table has 100 rows')
    await expect(warmUpHeads(failingFrom(100, error), plan)).rejects.toBe(error)
  })
})

test('an encoder that cannot allocate the memory for two items has no hidden batch', async () => {
  const error = new Error('std::bad_alloc')
  const explained = (given: Error, runOne = () => Promise.resolve()) =>
    explainHiddenBatch(given, { noun: 'image', runOne, batch: undefined })
  expect(await explained(error)).toBe(error)
  const other = new Error('the input has 2 elements')
  expect((await explained(other)).message).toMatch(/^a hidden batch of one: the graph runs one image/)
  expect(await explained(other, () => Promise.reject(other))).toBe(other)
})
