/**
 * All features by name.
 */
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
