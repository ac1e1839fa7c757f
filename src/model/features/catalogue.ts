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

/**
 * Raised when a feature of an existing name changes its values. A new feature needs no new version. The values of a
 * version are pinned by `test/golden/features`.
 */
export const catalogueVersion = 1

/** Features by group, in the order of the documentation. */
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
