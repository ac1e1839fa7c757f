/**
 * Heads with values that are NaN or outside 0 to 1: the error names the head, the row and the cause.
 */
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  expectClose,
  expectModelError,
  load,
  packaged,
  postsWithViews,
  quiet,
} from '../../../test/helpers/loaded-models.js'
import { modelsDir, smallGraph, temporaryModelsDir } from '../../../test/helpers/model-packages.js'
import { makeInputs, ordinaryInputs } from '../../../test/helpers/scoring-inputs.js'

describe('a head that is NaN', () => {
  const posts = (changes: Readonly<Record<string, number>> = {}) =>
    makeInputs(3, 0, (_, path, row) => (row === 1 ? (changes[path] ?? 1) : 1))

  test('names the missing feature and no other', async () => {
    const graph = smallGraph({
      inputs: [{ name: 'features', shape: ['N', 3] }],
      constants: [
        { name: 'views', shape: [1], values: BigInt64Array.of(0n) },
        { name: 'down', shape: [1], values: BigInt64Array.of(2n) },
      ],
      operators: [
        { type: 'Gather', inputs: ['features', 'views'], outputs: ['a'], attributes: { axis: { int: 1 } } },
        { type: 'Gather', inputs: ['features', 'down'], outputs: ['c'], attributes: { axis: { int: 1 } } },
        { type: 'Add', inputs: ['a', 'c'], outputs: ['sum'] },
        { type: 'Sigmoid', inputs: ['sum'], outputs: ['probs'] },
      ],
    })
    const features = ['views_log', 'up_log', { name: 'down', transform: 'log1p' }]
    const model = await load(packaged(graph, () => ({ features, missing: 'nan' })))
    await expectModelError(
      model.predict(posts({ 'engagement.up': NaN, 'engagement.down': NaN })),
      /the first is row 1 with NaN; caused by feature log1p\(down\) \(missing\)$/,
    )
    expectClose((await model.predict(posts())).p_views, Array<number>(3).fill(4 / 5))
  })

  test('names the embedding that is missing, which is NaN or zeros as the manifest specifies for its encoder', async () => {
    const directory = temporaryModelsDir()
    const version = 'example-1'
    cpSync(join(modelsDir, version), join(directory, version), { recursive: true })
    const file = join(directory, version, 'manifest.json')
    const manifest = JSON.parse(readFileSync(file, 'utf8')) as { text: object }
    writeFileSync(file, JSON.stringify({ ...manifest, text: { ...manifest.text, missing_embedding: 'nan' } }))
    const model = await load({ ...quiet(), modelsDir: directory, version })
    const inputs = ordinaryInputs(3, 1)
    await expectModelError(
      model.predict(inputs),
      /3 of 3 rows are not finite .*; caused by text embedding \(missing\)$/,
    )
    const { dim } = model.text!
    const text = { dim, vectors: new Float32Array(dim).fill(0.1), row: new Int32Array(2 * inputs.count) }
    expect((await model.predict({ ...inputs, text })).p_views).toHaveLength(3)
  })

  test('names the feature whose value causes it', async () => {
    const graph = smallGraph({
      operators: [
        { type: 'Sub', inputs: ['features', 'seven'], outputs: ['difference'] },
        { type: 'Div', inputs: ['difference', 'difference'], outputs: ['one'] },
        { type: 'Sigmoid', inputs: ['one'], outputs: ['probs'] },
      ],
      constants: [{ name: 'seven', shape: [1], values: Float32Array.of(7) }],
    })
    const model = await load(packaged(graph, () => ({ features: ['views'] })))
    await expectModelError(
      model.predict(posts({ 'engagement.views': 7 })),
      /the first is row 1 with NaN; caused by feature views \(7\)$/,
    )
  })
})

describe('an invalid value of a head', () => {
  // 1 - views_log is 1 for a post without views; its square root is NaN for one with many.
  const oneMinusFeature = { type: 'Sub', inputs: ['one', 'features'], outputs: ['rest'] }
  const constants = [{ name: 'one', shape: [1], values: Float32Array.of(1) }]

  test('fails the call with an error that names the head and counts the rows, and the next call succeeds', async () => {
    const operators = [oneMinusFeature, { type: 'Sqrt', inputs: ['rest'], outputs: ['probs'] }]
    const model = await load(packaged(smallGraph({ constants, operators })))
    await expectModelError(
      model.predict(postsWithViews([0, 99, 0, 99])),
      /^head p_views: 2 of 4 rows are not finite and within 0 to 1, the first is row 1 with NaN; caused by feature views_log \(4\.60517\)$/,
    )
    expectClose((await model.predict(postsWithViews([0]))).p_views, [1])
  })

  test('may be a number outside 0 to 1', async () => {
    const operators = [{ ...oneMinusFeature, outputs: ['probs'] }]
    const model = await load(packaged(smallGraph({ constants, operators })))
    await expectModelError(model.predict(postsWithViews([99])), /1 of 1 rows .* with -3\.6/)
  })
})
