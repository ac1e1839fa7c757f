/**
 * The rows of a trial batch for heads: of a table of the training if there is one, else of trial posts, and vectors of length 1.
 */
import { compileFeatures } from '../features/compile.js'
import { fillEmbeddings } from '../features/embedding-rows.js'
import { findFeature } from '../features/catalogue.js'
import type { MatrixWidths } from '../sessions/head-ports.js'
import type { Matrices } from '../sessions/batches.js'
import { trialPool } from '../verification/trial-inputs.js'
import type { FeatureSource } from './feature-source.js'

export const trialRows = 256

export interface TrialBatch {
  readonly matrices: Matrices
  /** Where the features come from, in words. */
  readonly origin: string
}

/** `columns`: the features in the source. `names`: undefined where the features are unknown. */
export function trialBatch(
  widths: MatrixWidths,
  names: readonly string[] | null,
  table: { readonly source: FeatureSource; readonly columns: readonly number[] } | null,
): TrialBatch {
  const pool = trialPool(trialRows, {
    text: widths.text === 0 ? null : { dim: widths.text },
    image: widths.image === 0 ? null : { dim: widths.image },
  })
  const features = new Float32Array(trialRows * widths.features)
  const known = (names ?? []).flatMap((name) => findFeature(name) ?? [])
  let origin = 'random numbers'
  const rows = table?.source.rows ?? null
  if (table !== null && rows !== null) {
    for (let row = 0; row < trialRows; row++)
      table.columns.forEach((column, index) => {
        const value = rows[row % rows.length]?.[column] ?? NaN
        features[row * widths.features + index] = Number.isFinite(value) ? value : 0
      })
    origin = `rows of ${table.source.from}`
  } else if (names !== null && known.length === widths.features) {
    compileFeatures(known, 'imputed')(pool, features)
    origin = 'trial posts'
  } else {
    // Values from -3 to 3, as scaled inputs have.
    for (let index = 0; index < features.length; index++) features[index] = 3 * Math.sin(index * index)
  }
  const vectorsOf = (encoder: 'text' | 'image'): Float32Array => {
    const matrix = new Float32Array(trialRows * widths[encoder])
    fillEmbeddings(pool[encoder], pool.slots.subarray(0, trialRows), matrix, 0)
    return matrix
  }
  // Indexes that every model with galleries has: unknown, and the first one.
  const gallery_index = Float32Array.from({ length: trialRows * widths.gallery_index }, (_, row) => row % 2)
  return { matrices: { features, text: vectorsOf('text'), image: vectorsOf('image'), gallery_index }, origin }
}
