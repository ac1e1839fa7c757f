/**
 * Heads that read the index of a post's gallery, with real graphs: prediction, checks, golden cases, and what is refused.
 */
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { ElementType, Port } from '../../models/onnx-writer.js'
import { galleries, galleryGraph } from '../../test/helpers/gallery-graph.js'
import { expectClose, load, packaged, type TestOptions } from '../../test/helpers/loaded-models.js'
import { smallGraph } from '../../test/helpers/model-packages.js'
import { makeInputs } from '../../test/helpers/scoring-inputs.js'
import { fillGalleryIndexes } from './features/gallery-index.js'
import type { ModelInputs } from './model.js'
import { verifyPackage } from './verification/verify.js'

function withGalleries(graph: Uint8Array, list: readonly string[] = galleries): TestOptions {
  return packaged(graph, ({ head }) => ({
    features: undefined,
    galleries: list,
    head: Object.assign({}, head, { inputs: { gallery_index: 'gallery' } }),
  }))
}

/** A post in each of these galleries, which the pool has numbered in another order than the manifest. */
function postsIn(ids: readonly string[]): ModelInputs {
  const inputs = makeInputs(ids.length, 0, () => 0)
  const numbered = [...new Set(ids)].reverse()
  inputs.slots.forEach((slot, row) => (inputs.gallery[slot] = numbered.indexOf(ids[row]!)))
  return { ...inputs, galleries: numbered }
}

const posts = ['cat', 'unheard of', 'programming', '등산', 'cat']

describe('the index of a gallery is its place in the list of the manifest, and 0 without one,', () => {
  test.each<[string, Port['shape'], ElementType]>([
    ['as int64 [N]', ['N'], 'int64'],
    ['as int64 [N, 1]', ['N', 1], 'int64'],
    ['as int32 [N, 1]', ['N', 1], 'int32'],
    ['as float32 [N]', ['N'], 'float32'],
    ['as float64 [N, 1]', ['N', 1], 'float64'],
  ])('%s', async (_, shape, element) => {
    const model = await load(withGalleries(galleryGraph(shape, element)))
    const { p_views } = await model.predict(postsIn(posts))
    expectClose(p_views, [0.75, 0.125, 0.25, 0.5, 0.75])
  })

  test('beside features, in runs of a fixed number of rows', async () => {
    const graph = smallGraph({
      inputs: [
        { name: 'features', shape: [2, 1] },
        { name: 'gallery', shape: [2, 1], element: 'float32' },
      ],
      outputs: [{ name: 'probs', shape: [2, 1] }],
      constants: [{ name: 'tenth', shape: [1], values: Float32Array.of(0.1) }],
      operators: [
        { type: 'Mul', inputs: ['gallery', 'tenth'], outputs: ['share'] },
        { type: 'Mul', inputs: ['features', 'share'], outputs: ['product'] },
        { type: 'Add', inputs: ['product', 'share'], outputs: ['probs'] },
      ],
    })
    const options = packaged(graph, ({ head }) => ({
      features: ['manual_flag'],
      galleries,
      head: Object.assign({}, head, {
        batch: 2,
        inputs: { features: 'features', gallery_index: 'gallery' },
      }),
    }))
    const model = await load(options)
    const inputs = postsIn(posts)
    inputs.posts.manualFlag.fill(1)
    expectClose((await model.predict(inputs)).p_views, [0.6, 0, 0.2, 0.4, 0.6])
  })
})

test('each gallery is looked up once, whatever the number of its posts', () => {
  const inputs = postsIn(Array.from({ length: 1000 }, (_, row) => (row % 2 === 0 ? 'cat' : 'other')))
  const seen: string[] = []
  const counted = {
    *[Symbol.iterator]() {
      for (const id of inputs.galleries) {
        seen.push(id)
        yield id
      }
    },
  } as unknown as ModelInputs['galleries']
  const matrix = new Float32Array(1000)
  const fill = fillGalleryIndexes(galleries)
  fill({ ...inputs, galleries: counted }, matrix)
  expect([...matrix.subarray(0, 4)]).toEqual([3, 0, 3, 0])
  expect(seen).toHaveLength(2)
  fill({ ...inputs, galleries: counted }, new Float32Array(0))
  expect(seen).toHaveLength(2)
})

describe('verification', () => {
  test('passes a table with a row for each index, and golden cases by the name of the gallery', async () => {
    const options = withGalleries(galleryGraph())
    const cases = [
      { gall_id: '등산', heads: { p_views: 0.5 } },
      { gall_id: 'new', heads: { p_views: 0.125 } },
      { heads: { p_views: 0.125 } },
    ]
    addGolden(options, cases)
    const { checks, passed } = await verifyPackage(options)
    expect(passed, JSON.stringify(checks)).toBe(true)
    expect(checks.find(({ check }) => check === 'golden')?.sentence).toMatch(/^3 golden cases: .* is 0;/)
    expect(checks.find(({ check }) => check === 'manifest')?.sentence).toContain('3 galleries')
    expect(checks.find(({ check }) => check === 'batches')?.state).toBe('pass')
  })

  test('fails golden cases of a list in another order', async () => {
    const options = withGalleries(galleryGraph(), ['등산', 'programming', 'cat'])
    addGolden(options, [{ name: 'hiking', gall_id: '등산', heads: { p_views: 0.5 } }])
    const { checks } = await verifyPackage(options)
    expect(checks.find(({ state }) => state === 'fail')?.sentence).toMatch(
      /p_views of golden case 1 \(hiking\): 0\.250, expected 0\.500/,
    )
  })

  test('fails a table without a row for the last index', async () => {
    const { checks } = await verifyPackage(withGalleries(galleryGraph(['N'], 'int64', [0.1, 0.2, 0.3])))
    const failed = checks.filter(({ state }) => state === 'fail')
    expect(failed.map(({ check }) => check)).toContain('extremes')
    expect(failed[0]?.sentence).toMatch(/out of data bounds/)
  })

  test('refuses half precision, which has no whole numbers above 2,048', async () => {
    const { checks } = await verifyPackage(withGalleries(galleryGraph(['N'], 'float16')))
    expect(checks.find(({ state }) => state === 'fail')?.sentence).toContain(
      'input gallery must be int64, int32, float32 or float64 [N, 1] or [N], but is float16 [N]',
    )
  })
})

/** Adds golden cases to the package. */
function addGolden({ modelsDir }: TestOptions, cases: readonly object[]): void {
  const directory = join(modelsDir, 'v1')
  const text = JSON.stringify({ cases })
  writeFileSync(join(directory, 'golden.json'), text)
  const golden = { file: 'golden.json', sha256: createHash('sha256').update(text).digest('hex') }
  const file = join(directory, 'manifest.json')
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as object
  writeFileSync(file, JSON.stringify({ ...manifest, golden }))
}
