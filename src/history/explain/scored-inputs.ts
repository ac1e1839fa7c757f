/**
 * The inputs of a model for one post at one recorded cycle, next to those of all scored posts, and the scores of inputs that
 * are changed one at a time.
 */
import type { HeadColumns, PostKey, Weights } from '../../contract/index.js'
import { Quarantine } from '../../cycle/index.js'
import {
  compileFeatures,
  type EmbeddingColumn,
  type Feature,
  type FeatureRows,
  type Model,
} from '../../model/index.js'
import { gallIdAt, scoreRows } from '../../pool/index.js'
import type { Store } from '../../store/index.js'
import type { ReplayedCycle } from '../replay/replay.js'
import { quantile, rankAmong } from '../evaluation/ranking.js'
import { replayedInputs } from '../replay/replayed-inputs.js'
import { VectorCache } from '../replay/vector-cache.js'

/** The inputs that a model takes. */
export interface ScorerInputs {
  readonly model: Pick<Model, 'text' | 'image'>
  /** Those of which the heads read the index; empty: they read none. */
  readonly galleries: readonly string[]
  readonly features: readonly Feature[]
}

/** A model, and how its manifest turns features and embeddings into inputs. */
export interface Scorer extends ScorerInputs {
  readonly model: Model & { predictRows(rows: FeatureRows): Promise<HeadColumns> }
  /** Whether the model accepts NaN for a missing feature, or takes the feature's `missing` value. */
  readonly missing: 'imputed' | 'nan'
  readonly missingEmbedding: Readonly<Record<'text' | 'image', number>>
}

/** The inputs of one row. A missing feature is NaN, whatever the model takes; a missing embedding is null. */
export interface InputRow {
  readonly features: Float32Array
  readonly text: Float32Array | null
  readonly image: Float32Array | null
  /** 0 if the gallery is unknown, or the model reads no galleries. */
  readonly galleryIndex: number
}

/** The inputs of the scored posts of a cycle. */
export interface CycleInputs {
  readonly postRow: InputRow
  /** Row-major [rowCount, features]. */
  readonly features: Float32Array
  readonly rowCount: number
  /** Elementwise over the posts that have one; null if none has. */
  readonly medianText: Float32Array | null
  readonly medianImage: Float32Array | null
}

/** Time limits for texts without a stored vector: that of the post, and those of all others, which only shift a median. */
const postEncodeMsMax = 30_000
const othersEncodeMsMax = 200

/** The inputs of a replayed cycle; null if the post is not scored in it. */
export async function cycleInputs(
  store: Store,
  { model, features, galleries }: ScorerInputs,
  replayed: ReplayedCycle,
  { gall_id, post_no }: PostKey,
): Promise<CycleInputs | null> {
  const { scoring, next } = replayed.plan
  const slots = scoring.slots.subarray(0, scoring.count)
  const row = slots.findIndex((slot) => next.postNo[slot] === post_no && gallIdAt(next, slot) === gall_id)
  if (row < 0) return null
  const cache = new VectorCache(store)
  const encoding = { quarantine: new Quarantine(), onExcluded: () => undefined, cache }
  const inputsOf = async (rows: readonly number[], encodeMsMax: number) =>
    (await replayedInputs(store, model, replayed, rows, { ...encoding, encodeMsMax })).inputs
  await inputsOf([row], postEncodeMsMax)
  const inputs = await inputsOf([...slots.keys()], othersEncodeMsMax)
  const matrix = new Float32Array(inputs.count * features.length)
  if (features.length > 0) compileFeatures(features, 'nan')(inputs, matrix)
  const slot = slots[row]!
  return {
    postRow: {
      features: matrix.slice(row * features.length, (row + 1) * features.length),
      text: vectorAt(inputs.text, slot),
      image: vectorAt(inputs.image, slot),
      galleryIndex: galleries.indexOf(gall_id) + 1,
    },
    features: matrix,
    rowCount: inputs.count,
    medianText: medianVector(inputs.text, slots),
    medianImage: medianVector(inputs.image, slots),
  }
}

function vectorAt(column: EmbeddingColumn | null, slot: number): Float32Array | null {
  const row = column?.row[slot] ?? -1
  return column === null || row < 0 ? null : column.vectors.slice(row * column.dim, (row + 1) * column.dim)
}

function medianVector(column: EmbeddingColumn | null, slots: Uint32Array): Float32Array | null {
  if (column === null) return null
  const { dim, vectors, row } = column
  const rows = Array.from(slots, (slot) => row[slot] ?? -1).filter((at) => at >= 0)
  if (rows.length === 0) return null
  return Float32Array.from({ length: dim }, (_, i) =>
    median(Float64Array.from(rows, (at) => vectors[at * dim + i]!)),
  )
}

/** Present values of one feature in the pool. */
export function presentValues({ features, rowCount }: CycleInputs, column: number): Float64Array {
  const width = rowCount === 0 ? 0 : features.length / rowCount
  const values = Float64Array.from({ length: rowCount }, (_, row) => features[row * width + column]!)
  return values.filter((value) => !Number.isNaN(value))
}

/** NaN without values. */
export function median(values: Float64Array): number {
  return quantile(values, 0.5) ?? NaN
}

/** Share of the values below `value`, plus half of those equal to it. */
export function percentileOf(values: Float64Array, value: number): number {
  const { above, tied } = rankAmong(values, [...values.keys()], value)
  return (values.length - above - tied / 2) / values.length
}

/** The scores of some inputs, in one batch. */
export async function scoreInputs(
  scorer: Scorer,
  weights: Weights,
  rows: readonly InputRow[],
): Promise<Float32Array> {
  const { model, features, galleries, missing, missingEmbedding } = scorer
  const count = rows.length
  const matrix = new Float32Array(count * features.length)
  for (const [row, input] of rows.entries())
    for (const [column, feature] of features.entries()) {
      const value = input.features[column]!
      const isImputed = Number.isNaN(value) && missing === 'imputed'
      matrix[row * features.length + column] = isImputed ? (feature.missing ?? NaN) : value
    }
  const embeddings = (name: 'text' | 'image'): Float32Array | null => {
    const dim = model[name]?.dim
    if (dim === undefined) return null
    const values = new Float32Array(count * dim).fill(missingEmbedding[name])
    for (const [row, input] of rows.entries()) {
      const vector = input[name]
      if (vector !== null) values.set(vector, row * dim)
    }
    return values
  }
  const batch = {
    count,
    features: matrix,
    text: embeddings('text'),
    image: embeddings('image'),
    ...(galleries.length === 0
      ? {}
      : { gallery_index: Float32Array.from(rows, ({ galleryIndex }) => galleryIndex) }),
  }
  return scoreRows(await model.predictRows(batch), weights, count)
}
