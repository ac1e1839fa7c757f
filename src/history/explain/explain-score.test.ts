/** Which inputs change a score, with a linear model: each change is known exactly. */
import { expect, test } from 'vitest'
import type { HeadColumns, Weights } from '../../contract/index.js'
import { findFeature, type FeatureRows } from '../../model/index.js'
import { describeInputs, explainChange, explainScore } from './explain-score.js'
import { median, percentileOf, type CycleInputs, type Scorer } from './scored-inputs.js'

const features = ['views_log', 'up_log', 'images_in_post_log'].map((name) => findFeature(name)!)
const weights: Weights = { views: 2, comments: 0, up: 0, downvote_share: 0 }

/** p_views = 1/8 · views + 1/16 · up + 1/32 · images, plus 1/4 of the first value of each vector. */
function scorer(missing: 'imputed' | 'nan' = 'imputed'): Scorer {
  const encoder = { hash: 'h', dim: 2, encode: () => Promise.reject(new Error('encodes nothing')) }
  const model: Scorer['model'] = {
    version: 'm',
    kind: 'trained' as const,
    provider: 'none',
    text: encoder,
    image: { ...encoder, pooling: 'mean', required: false },
    predict: () => Promise.reject(new Error('predicts rows only')),
    predictRows: ({ count, features: matrix, text, image }: FeatureRows): Promise<HeadColumns> => {
      const p_views = Float32Array.from({ length: count }, (_, row) => {
        const [views = NaN, up = NaN, images = NaN] = matrix.subarray(3 * row).map(zeroForNaN)
        return (
          views / 8 + up / 16 + images / 32 + (text?.[2 * row] ?? NaN) / 4 + (image?.[2 * row] ?? NaN) / 4
        )
      })
      return Promise.resolve({ p_views, p_comments: null, p_up: null, downvote_share: null })
    },
  }
  return { model, features, galleries: [], missing, missingEmbedding: { text: 0, image: 0 } }
}

function zeroForNaN(value: number): number {
  return Number.isNaN(value) ? 0 : value
}

const postRow = {
  features: Float32Array.of(4, NaN, 1),
  text: Float32Array.of(0.5, 0),
  image: null,
  galleryIndex: 0,
}
const inputs: CycleInputs = {
  postRow,
  features: Float32Array.of(4, NaN, 1, 2, 8, 0, 2, NaN, 0, 6, 4, 0),
  rowCount: 4,
  medianText: Float32Array.of(0.25, 0),
  medianImage: Float32Array.of(1, 1),
}

test('each input has its value, its percentile and the median of the present values', async () => {
  const { score, inputs: explained } = await explainScore(scorer(), weights, inputs)
  expect(score).toBe(2 * (4 / 8 + 1 / 32 + 0.5 / 4))
  expect(Object.fromEntries(explained.map(({ name, ...rest }) => [name, rest]))).toMatchObject({
    views_log: {
      kind: 'feature',
      value: 4,
      missing: false,
      percentile: 2.5 / 4,
      median: 3,
      over_median: 2 / 8,
      over_missing: 1,
    },
    up_log: {
      kind: 'feature',
      value: null,
      missing: true,
      percentile: null,
      median: 6,
      over_median: -(2 * 6) / 16,
      over_missing: null,
    },
    // Never missing.
    images_in_post_log: {
      kind: 'feature',
      value: 1,
      missing: false,
      percentile: 3.5 / 4,
      median: 0,
      over_median: 2 / 32,
      over_missing: null,
    },
    text: {
      kind: 'text',
      value: null,
      missing: false,
      percentile: null,
      median: null,
      over_median: (2 * 0.25) / 4,
      over_missing: (2 * 0.5) / 4,
    },
    image: {
      kind: 'image',
      value: null,
      missing: true,
      percentile: null,
      median: null,
      over_median: -2 / 4,
      over_missing: null,
    },
  })
})

test('the input that adds or takes most comes first, compared with the median, else with none', async () => {
  const { inputs: explained } = await explainScore(scorer('nan'), weights, inputs)
  expect(explained.map(({ name }) => name)).toEqual([
    'up_log',
    'image',
    'views_log',
    'text',
    'images_in_post_log',
  ])
})

test('without a model the inputs are described and no change is known', () => {
  const described = describeInputs(features, inputs)
  expect(described.map(({ name }) => name)).toEqual(features.map(({ name }) => name))
  expect(described[0]).toMatchObject({
    percentile: 2.5 / 4,
    median: 3,
    over_median: null,
    over_missing: null,
  })
})

test('a gallery that the model knows is compared with an unknown one', async () => {
  const { model, ...others } = scorer()
  const byGallery: Scorer = {
    ...others,
    galleries: ['g', 'h'],
    model: {
      ...model,
      predictRows: async (rows) => {
        const heads = await model.predictRows(rows)
        const p_views = heads.p_views?.map((share, row) => share + (rows.gallery_index?.[row] ?? NaN) / 8)
        return { ...heads, p_views: p_views ?? null }
      },
    },
  }
  const galleryOf = async (galleryIndex: number) => {
    const explained = await explainScore(byGallery, weights, {
      ...inputs,
      postRow: { ...postRow, galleryIndex },
    })
    return explained.inputs.find(({ kind }) => kind === 'gallery')
  }
  const gallery = {
    kind: 'gallery',
    name: 'gallery_index',
    percentile: null,
    median: null,
    over_median: null,
  }
  expect(await galleryOf(2)).toMatchObject({
    ...gallery,
    value: 2,
    missing: false,
    over_missing: 2 * (2 / 8),
  })
  expect(await galleryOf(0)).toMatchObject({ ...gallery, value: null, missing: true, over_missing: null })
})

test('the steps of a change add up to it, and equal inputs are omitted', async () => {
  const after = { ...postRow, features: Float32Array.of(2, 8, 1), image: Float32Array.of(1, 0) }
  const later = { scorer: scorer(), weights: { ...weights, views: 4 } }
  const change = await explainChange({ scorer: scorer(), weights }, later, {
    before: postRow,
    after,
    afterOwn: after,
  })
  expect(change).toEqual({
    from_score: 1.3125,
    to_score: 4 * (2 / 8 + 8 / 16 + 1 / 32 + 0.5 / 4 + 1 / 4),
    by_inputs: 2 * (-2 / 8 + 8 / 16 + 1 / 4),
    by_weights: 2 * (2 / 8 + 8 / 16 + 1 / 32 + 0.5 / 4 + 1 / 4),
    by_model: 0,
    inputs: [
      { kind: 'feature', name: 'up_log', from: null, to: 8, change: 1 },
      { kind: 'feature', name: 'views_log', from: 4, to: 2, change: -0.5 },
      { kind: 'image', name: 'image', from: null, to: null, change: 0.5 },
    ],
  })
})

test('a percentile counts half of the equal values, and a median of none is NaN', () => {
  expect(percentileOf(Float64Array.of(1, 2, 2, 3), 2)).toBe(0.5)
  expect([
    median(Float64Array.of(1, 2, 5)),
    median(Float64Array.of(1, 2)),
    median(new Float64Array()),
  ]).toEqual([2, 1.5, NaN])
})
