/**
 * All features by name.
 */
import { clockFeatures } from './clocks.js'
import { counterFeatures, ratioFeatures } from './counters.js'
import { signedLog1p } from './expression.js'
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

const transformPattern = /^log1p\((\w+)\)$/
const byName = new Map(catalogue.map((feature) => [feature.name, feature]))

/** A feature of the catalogue, or its transform, such as `log1p(views)`. */
export function findFeature(name: string): Feature | undefined {
  const inner = transformPattern.exec(name)?.[1]
  const feature = byName.get(inner ?? name)
  if (inner === undefined || feature === undefined) return feature
  const { formula, missing, value, shown } = feature
  return {
    name,
    formula: `log with sign of: ${formula}`,
    missing: missing === null ? null : Math.sign(missing) * Math.log1p(Math.abs(missing)),
    value: signedLog1p(value),
    shown: { ...shown, logs: shown.logs + 1 },
  }
}

/** ` (did you mean views_log?)`, or nothing if no name of the catalogue is similar. */
export function nearestFeature(name: string): string {
  const inner = transformPattern.exec(name)?.[1] ?? name
  let nearest = { known: '', distance: Infinity }
  for (const known of byName.keys()) {
    const distance = editDistance(inner, known)
    if (distance < nearest.distance) nearest = { known, distance }
  }
  return nearest.distance > inner.length / 3 ? '' : ` (did you mean ${name.replace(inner, nearest.known)}?)`
}

/** Insertions, deletions and replacements of a character (Levenshtein). */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const above = row
    row = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = above[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      row.push(Math.min(replaced, above[j]! + 1, row[j - 1]! + 1))
    }
  }
  return row[b.length]!
}
