/**
 * Golden cases: what their file may hold, how they are run, and how they are recorded.
 */
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { temporaryModelsDir } from '../../../test/helpers/model-packages.js'
import type { HeadColumns } from '../../contract/index.js'
import { compileFeatures } from '../features/compile.js'
import { findFeature } from '../features/catalogue.js'
import { parseGolden, readGolden, runGolden, type GoldenCase, type GoldenRunner } from './golden.js'
import { recordGolden } from './golden-record.js'
import { featureNames } from '../package/parse-manifest.js'
import type { HeadManifest, ImageManifest, Manifest, TextManifest } from '../package/manifest.js'
import type { ModelPackage } from '../package/read-package.js'
import { ModelError, ModelRowError, type FeatureRows } from '../model.js'
import { trialInputs } from './trial-inputs.js'

const head: HeadManifest = {
  file: 'head.onnx',
  sha256: 'a'.repeat(64),
  inputs: { features: 'features' },
  outputs: { p_views: { name: 'probs', column: 0 }, p_up: { name: 'probs', column: 1 } },
}
const manifest: Manifest = { model_version: 'v1', kind: 'trained', features: ['views_log', 'up_log'], head }
const text = { dim: 2 } as TextManifest
const image = { dim: 2, pooling: 'max' } as ImageManifest
const valid: GoldenCase = { features: { views_log: 1, up_log: 2 }, heads: { p_views: 0.25, p_up: 0.5 } }

describe('a file of golden cases is refused, naming file and place, when', () => {
  test.each<[string, unknown, RegExp]>([
    ['it is not JSON', undefined, /golden\.json is not JSON/],
    ['it holds something else', { cases: 1 }, /golden\.json: cases must be an array, not 1/],
    ['it is a list', [valid], /golden\.json: the file must be an object with cases, not \[/],
    ['it is nothing', null, /golden\.json: the file must be an object with cases, not null/],
    [
      'a feature is no number',
      { cases: [{ ...valid, features: { views_log: 'x' } }] },
      /cases\[0\]\.features\.views_log must be a number or null, not "x"/,
    ],
    ['a member is unknown', { cases: [{ ...valid, mood: 1 }] }, /cases\[0\]\.mood is not known/],
    ['it has no cases', { cases: [] }, /cases must not be empty/],
    [
      'a feature is missing',
      { cases: [{ ...valid, features: { views_log: 1 } }] },
      /cases\[0\]\.features lacks up_log/,
    ],
    [
      'a feature is unknown',
      { cases: [valid, { ...valid, features: { ...valid.features, mood: 1 } }] },
      /cases\[1\]\.features has mood, which the manifest does not name/,
    ],
    [
      'a feature is misspelt',
      { cases: [{ ...valid, features: { views_log: 1, uplog: 2 } }] },
      /cases\[0\]\.features lacks up_log, and has uplog, which the manifest does not name/,
    ],
    [
      'a head is missing',
      { cases: [{ ...valid, heads: { p_up: 1 } }] },
      /heads must be those of the model: p_views, p_up/,
    ],
    [
      'a record has no reader',
      { cases: [{ ...valid, record: { title: 'x' } }] },
      /record, but the model has no text encoder/,
    ],
    [
      'images have no reader',
      { cases: [{ ...valid, images: [] }] },
      /images, but the model has no image encoder/,
    ],
    [
      'a gallery has no reader',
      { cases: [{ ...valid, gall_id: 'cat' }] },
      /cases\[0\] has a gall_id, but no head has an input gallery_index/,
    ],
  ])('%s', (_, value, message) => {
    const content = value === undefined ? '{' : JSON.stringify(value)
    expect(() => parseGolden(content, 'golden.json', manifest)).toThrow(message)
    expect(() => parseGolden(content, 'golden.json', manifest)).toThrow(ModelError)
  })

  test.each(['imputed', 'nan'] as const)(
    'a value is null that a model with missing %s always gets from the service',
    (missing) => {
      const features = { cycle_hour_sin: null, up_log: null }
      const clock: Manifest = { ...manifest, missing, features: ['cycle_hour_sin', 'up_log'] }
      expect(() =>
        parseGolden(JSON.stringify({ cases: [{ ...valid, features }] }), 'golden.json', clock),
      ).toThrow('cases[0].features.cycle_hour_sin is null, but the service always has a value for it')
    },
  )

  test('it is not the file that was hashed', async () => {
    const directory = temporaryModelsDir()
    writeFileSync(join(directory, 'golden.json'), JSON.stringify({ cases: [valid] }))
    const golden = { file: 'golden.json', sha256: 'b'.repeat(64) }
    await expect(readGolden(packageOf({ ...manifest, golden }, directory))).rejects.toThrow(/has SHA-256/)
  })
})

test('a package without golden cases has none', async () => {
  expect(await readGolden(packageOf(manifest))).toBeNull()
})

describe('golden cases', () => {
  const cases = [valid, { ...valid, name: 'the second', heads: { p_views: 0.25, p_up: 0.75 } }]

  test('run as one batch of features in the order of the manifest, without a difference for a correct model', async () => {
    const model = subject({ p_views: [0.25, 0.25], p_up: [0.5, 0.75] })
    expect(await runGolden(model, packageOf(manifest), { cases })).toMatchObject({
      differenceMax: 0,
      mismatches: [],
    })
    expect(model.seen).toMatchObject([
      { count: 2, features: Float32Array.of(1, 2, 1, 2), text: null, image: null },
    ])
  })

  test.each([
    ['NaN for a model that takes it', 'nan', [NaN, NaN]],
    ['the value of the catalogue for any other', undefined, [0.5, Math.log1p(0.5)]],
  ] as const)('have null for a missing value, which is %s', async (_, missing, expected) => {
    const share = 'up_share_smoothed'
    const changed: Manifest = {
      ...manifest,
      features: [share, { name: share, transform: 'log1p' }],
      ...(missing && { missing }),
    }
    const one: GoldenCase = { features: { [share]: null, [`log1p(${share})`]: null }, heads: valid.heads }
    const model = subject({ p_views: [0.25], p_up: [0.5] })
    await runGolden(model, packageOf(changed), { cases: [one] })
    expect(model.seen).toMatchObject([{ features: Float32Array.from(expected) }])
  })

  test('that differ by more than the tolerance are named, with the expected and the actual value', async () => {
    const model = subject({ p_views: [0.25, 0.25], p_up: [0.505, 0.5] })
    const golden = { file: 'golden.json', sha256: '', tolerance: 0.01 }
    const { mismatches, differenceMax } = await runGolden(model, packageOf({ ...manifest, golden }), {
      cases,
    })
    expect(mismatches).toEqual([
      { case: 'golden case 2 (the second)', head: 'p_up', expected: 0.75, actual: 0.5 },
    ])
    expect(differenceMax).toBe(0.25)
  })

  test.each([
    [0.75, []],
    [0.25, []],
    [0.751, ['p_up']],
    [0.249, ['p_up']],
  ])('may differ by the tolerance itself, in both directions: %d for 0.5', async (actual, expected) => {
    const golden = { file: 'golden.json', sha256: '', tolerance: 0.25 }
    const model = subject({ p_views: [0.25], p_up: [actual] })
    const { mismatches } = await runGolden(model, packageOf({ ...manifest, golden }), { cases: [valid] })
    expect(mismatches.map(({ head: name }) => name)).toEqual(expected)
  })

  test('fail for a head that is NaN or missing', async () => {
    const model = subject({ p_views: [NaN, 0.25] })
    const { mismatches } = await runGolden(model, packageOf(manifest), { cases })
    expect(mismatches.map(({ case: name, head: column }) => `${name} ${column}`)).toEqual([
      'golden case 1 p_views',
      'golden case 1 p_up',
      'golden case 2 (the second) p_up',
    ])
  })

  test('whose heads are outside 0 to 1 are named', async () => {
    const model: GoldenRunner = {
      ...subject({}),
      predictRows: () => Promise.reject(new ModelRowError('head p_up: 1 of 2 rows are not finite', 1)),
    }
    await expect(runGolden(model, packageOf(manifest), { cases })).rejects.toThrow(
      'golden case 2 (the second): head p_up: 1 of 2 rows are not finite',
    )
  })

  test('have missing embeddings as the manifest specifies for each encoder', async () => {
    const model = subject({ p_views: [0], p_up: [0] }, true)
    const zeroText = { ...text, missing_embedding: 'zeros' } as const
    await runGolden(model, packageOf({ ...manifest, missing: 'nan', text: zeroText, image }), {
      cases: [valid],
    })
    expect(model.seen).toMatchObject([{ text: Float32Array.of(0, 0), image: Float32Array.of(NaN, NaN) }])
  })

  test('have their records and images encoded, and rows of NaN without them', async () => {
    const directory = temporaryModelsDir()
    const jpegs = ['a', 'b'].map((content) => {
      writeFileSync(join(directory, content), content)
      return { file: content, sha256: createHash('sha256').update(content).digest('hex') }
    })
    const model = subject({ p_views: [0, 0], p_up: [0, 0] }, true)
    const modelPackage = packageOf({ ...manifest, missing: 'nan', text, image }, directory)
    const withNull = { ...valid, features: { views_log: null, up_log: 2 } }
    await runGolden(model, modelPackage, {
      cases: [withNull, { ...valid, record: { title: '글' }, images: jpegs }],
    })
    expect(model.seen[0]).toEqual({
      count: 2,
      features: Float32Array.of(NaN, 2, 1, 2),
      text: Float32Array.of(NaN, NaN, '{"title":"글"}'.length, 0),
      image: Float32Array.of(NaN, NaN, 98, 0),
    })
  })

  test('whose image was changed are refused', async () => {
    const directory = temporaryModelsDir()
    writeFileSync(join(directory, 'a'), 'a')
    const one = { ...valid, images: [{ file: 'a', sha256: 'c'.repeat(64) }] }
    const modelPackage = packageOf({ ...manifest, image }, directory)
    await expect(runGolden(subject({}, true), modelPackage, { cases: [one] })).rejects.toThrow(/SHA-256/)
  })
})

test('recorded cases give the inputs of the model as exactly the same float32 values', () => {
  const inputs = trialInputs(['ordinary', 'missing', 'huge'], { text: null, image: null })
  const modelPackage = packageOf({ ...manifest, missing: 'nan', text })
  const heads: HeadColumns = {
    p_views: Float32Array.of(0.1, 0.2, 1 / 3),
    p_comments: null,
    p_up: Float32Array.of(0, 1, 1e-7),
    downvote_share: null,
  }
  const record = Buffer.from('{"gall_id":"g","title":"제목","body_html":"<p>","source":"vote"}')
  const rows = ['a', 'b', 'c'].map((name, row) => ({ name, record: row === 0 ? record : null, images: [] }))
  const golden = recordGolden(modelPackage, inputs, heads, rows)
  const again = parseGolden(JSON.stringify(golden), 'golden.json', modelPackage.manifest)
  const matrix = new Float32Array(6)
  compileFeatures(modelPackage.features, 'nan')(inputs, matrix)
  expect(
    Float32Array.from(
      again.cases.flatMap(({ features }) => Object.values(features ?? {}).map((value) => value ?? NaN)),
    ),
  ).toEqual(matrix)
  expect(Float32Array.from(again.cases, (one) => one.heads.p_views ?? NaN)).toEqual(heads.p_views)
  expect(again.cases[0]).toMatchObject({ name: 'a', record: { title: '제목', body_html: '<p>' } })
  expect(again.cases[1]).not.toHaveProperty('record')
  expect(again.cases[0]).not.toHaveProperty('gall_id')
})

test('recorded cases have null for what was missing, whatever the model takes', () => {
  const inputs = trialInputs(['missing'], { text: null, image: null })
  const none = new Float32Array(1)
  const heads: HeadColumns = { p_views: none, p_comments: null, p_up: none, downvote_share: null }
  for (const missing of ['imputed', 'nan'] as const) {
    const { cases } = recordGolden(packageOf({ ...manifest, missing }), inputs, heads, [
      { name: 'a', record: null, images: [] },
    ])
    expect(cases[0]?.features).toEqual({ views_log: null, up_log: null })
  }
})

test('recorded cases name the gallery of each post, for a model that reads it', () => {
  const galleries = ['cat', '등산']
  const inputs = trialInputs(['huge', 'ordinary', 'ordinary'], { text: null, image: null, galleries })
  const none = new Float32Array(3)
  const heads: HeadColumns = { p_views: none, p_comments: null, p_up: none, downvote_share: null }
  const rows = ['a', 'b', 'c'].map((name) => ({ name, record: null, images: [] }))
  const modelPackage = packageOf({
    ...manifest,
    galleries,
    head: { ...head, inputs: { ...head.inputs, gallery_index: 'g' } },
  })
  const { cases } = recordGolden(modelPackage, inputs, heads, rows)
  expect(cases.map(({ gall_id }) => gall_id)).toEqual(['등산', 'cat', '등산'])
})

function packageOf(changed: Manifest, directory = '/nowhere'): ModelPackage {
  const features = featureNames(changed).map((name) => findFeature(name)!)
  return { directory, manifest: changed, features, files: [] }
}

/** A model that returns these heads. Its encoders make a vector of the length or the last byte of what they read. */
function subject(
  heads: { [name: string]: number[] },
  reads = false,
): GoldenRunner & { readonly seen: FeatureRows[] } {
  const seen: FeatureRows[] = []
  const vectorsOf = (items: readonly Uint8Array[], value: (item: Uint8Array) => number) => ({
    vectors: Float32Array.from(items.flatMap((item) => [value(item), 0])),
    encoded: new Uint8Array(items.length).fill(1),
  })
  const encoder = { hash: '', dim: 2 }
  return {
    seen,
    text: reads
      ? {
          ...encoder,
          encode: (records) =>
            Promise.resolve(vectorsOf(records, (record) => Buffer.from(record).toString('utf8').length)),
        }
      : null,
    image: reads
      ? {
          ...encoder,
          pooling: 'max',
          required: false,
          encode: (images) => Promise.resolve(vectorsOf(images, (jpeg) => jpeg.at(-1) ?? 0)),
        }
      : null,
    predictRows(rows) {
      seen.push(rows)
      const column = (name: string) => (heads[name] === undefined ? null : Float32Array.from(heads[name]))
      return Promise.resolve({
        p_views: column('p_views'),
        p_comments: null,
        p_up: column('p_up'),
        downvote_share: null,
      })
    },
  }
}
