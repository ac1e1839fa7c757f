/**
 * All features by name, and the matrix of those that a model asks for.
 */
import type { ScoringInputs } from '../../pool/index.js'
import { clockFeatures } from './clocks.js'
import { counterFeatures, ratioFeatures } from './counters.js'
import type { Feature } from './feature.js'
import { imageFeatures, postFeatures } from './posts.js'
import { rateFeatures } from './rates.js'
import { snapshotFeatures } from './snapshots.js'
import { bodyFeatures, titleFeatures } from './texts.js'

/** Features by group, in the order of the documents. */
export const featureGroups: Readonly<Record<string, readonly Feature[]>> = {
  counters: counterFeatures,
  ratios: ratioFeatures,
  rates: rateFeatures,
  clocks: clockFeatures,
  title: titleFeatures,
  body: bodyFeatures,
  posts: postFeatures,
  images: imageFeatures,
  snapshot: snapshotFeatures,
}

/** Every feature that a manifest may name. */
export const catalogue: readonly Feature[] = Object.values(featureGroups).flat()

const byName = new Map(catalogue.map((feature) => [feature.name, feature]))

export function findFeature(name: string): Feature | undefined {
  return byName.get(name)
}

/**
 * Fills a row-major matrix [inputs.count, features.length], one column at a time. `out` may be longer; what lies
 * beyond the matrix is left alone.
 */
export function fillFeatures(features: readonly Feature[], inputs: ScoringInputs, out: Float32Array): void {
  const stride = features.length
  if (out.length < inputs.count * stride) throw new Error('the feature matrix is too small')
  for (let column = 0; column < stride; column++) {
    const feature = features[column] as Feature
    feature.fill(inputs, out, column, stride)
  }
}
