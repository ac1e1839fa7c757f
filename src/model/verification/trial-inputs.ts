/**
 * Trial rows: ordinary posts, and extreme ones that a client may send. Made from a seed, so that a report can be
 * reproduced.
 */
import { dayMs, mulberry32 } from '../../base/index.js'
import {
  absentCode,
  counterNames,
  galleryTypeCodes,
  snapshotNames,
  sourceCodes,
  statusOk,
  textMeasureNames,
  type TextColumns,
} from '../../contract/index.js'
import type { EmbeddingColumn, ModelInputs } from '../model.js'
import { scaleToLengthOne } from '../sessions/pooling.js'

/** The kind of a row's values. */
export const trialKinds = ['ordinary', 'missing', 'zeros', 'huge', 'mixed'] as const
export type TrialKind = (typeof trialKinds)[number]

const seed = 20_260_601

/** Noon in Korea on a day in June. */
const cycleAtMs = Date.UTC(2026, 5, 1, 3, 0)
/** 0001-01-01: the first date that a client can send. */
const yearOneMs = -62_135_596_800_000

/** The kinds of columns, by the values that they may hold. */
type ColumnKind = 'counter' | 'count' | 'time' | 'past' | 'measure' | 'flag' | 'source' | 'galleryType'

/** A model, as far as its inputs depend on it. */
interface TrialReader extends Readonly<Record<'text' | 'image', { readonly dim: number } | null>> {
  /** Default: the heads read no galleries. */
  readonly galleries?: readonly string[]
}

/** Inputs of one row per kind, in that order, for a model. Row r is slot r and reading r. */
export function trialInputs(
  kinds: readonly TrialKind[],
  { text, image, galleries = [] }: TrialReader,
): ModelInputs {
  const count = kinds.length
  const random = mulberry32(seed)
  const filled = <T extends Float64Array | Uint32Array | Uint8Array>(column: T, kind: ColumnKind): T => {
    kinds.forEach((row, index) => (column[index] = valueOf(kind, row, random)))
    return column
  }
  const doubles = (kind: ColumnKind): Float64Array => filled(new Float64Array(count), kind)
  const words = (kind: ColumnKind): Uint32Array => filled(new Uint32Array(count), kind)
  const bytes = (kind: ColumnKind): Uint8Array => filled(new Uint8Array(count), kind)
  const fractions = (): Float64Array => new Float64Array(count)
  const counters = <Name extends string>(names: readonly Name[]): Record<Name, Float64Array> =>
    record(names, () => doubles('counter'))
  const measures = (): TextColumns => record(textMeasureNames, () => words('measure'))
  const rows = Uint32Array.from({ length: count }, (_, row) => row)
  return {
    cycleAtMs,
    count,
    slots: rows,
    readings: rows.slice(),
    // No gallery has an empty id, so the first one is unknown to every model.
    galleries: ['', ...galleries],
    gallery: Uint32Array.from(kinds, (kind, row) => galleryOf(kind, row, 1 + galleries.length)),
    posts: {
      createdAtMs: doubles('past'),
      createdAtFraction: fractions(),
      extractedAtMs: doubles('past'),
      extractedAtFraction: fractions(),
      source: bytes('source'),
      manualFlag: bytes('flag'),
      imagesInPost: doubles('count'),
      imagesExpected: doubles('counter'),
      imagePositionsFingerprint: new Uint32Array(count),
      galleryType: bytes('galleryType'),
      categoryId: doubles('counter'),
      bodyPresent: bytes('flag'),
      title: measures(),
      body: measures(),
    },
    engagement: {
      count,
      gallery: new Uint32Array(count),
      postNo: Float64Array.from(rows),
      status: new Uint8Array(count).fill(statusOk),
      observedAtMs: doubles('past'),
      observedAtFraction: fractions(),
      ...counters(counterNames),
    },
    previous: {
      observedAtMs: doubles('time'),
      observedAtFraction: fractions(),
      ...counters(counterNames),
    },
    snapshot: {
      snapshotAtMs: doubles('time'),
      snapshotAtFraction: fractions(),
      ...counters(snapshotNames),
    },
    imagesStored: words('measure'),
    imagesEncoded: words('measure'),
    textEncoded: bytes('flag'),
    text: text && embeddings(kinds, text.dim, random),
    image: image && embeddings(kinds, image.dim, random),
  }
}

/** Ordinary rows take one gallery after the other. */
function galleryOf(kind: TrialKind, row: number, galleryCount: number): number {
  if (kind === 'missing' || kind === 'zeros') return 0
  return kind === 'huge' ? galleryCount - 1 : row % galleryCount
}

/** Posts of a trial pool. The event loop of a service makes them between two cycles. */
const trialPostCount = 520

/** A full pool: `count` rows, most of them ordinary, of some hundred different posts. */
export function trialPool(count: number, model: TrialReader): ModelInputs {
  const inputs = trialInputs(manyKinds(Math.min(count, trialPostCount)), model)
  return reorder(
    inputs,
    Array.from({ length: count }, (_, row) => row % inputs.count),
  )
}

/** `count` rows, most of them ordinary, every eighth of another kind. */
export function manyKinds(count: number): TrialKind[] {
  return Array.from({ length: count }, (_, row) =>
    row % 8 === 7 ? trialKinds[Math.floor(row / 8) % trialKinds.length]! : 'ordinary',
  )
}

/** The rows of `inputs` in another order: row r is row `order[r]` of `inputs`. `order` may leave rows out. */
export function reorder(inputs: ModelInputs, order: readonly number[]): ModelInputs {
  return {
    ...inputs,
    count: order.length,
    slots: Uint32Array.from(order, (row) => inputs.slots[row]!),
    readings: Uint32Array.from(order, (row) => inputs.readings[row]!),
  }
}

/** 0 to `count` - 1 in an order that is always the same. */
export function shuffle(count: number): number[] {
  const random = mulberry32(seed)
  const order = Array.from({ length: count }, (_, index) => index)
  for (let last = count - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1))
    ;[order[last], order[other]] = [order[other]!, order[last]!]
  }
  return order
}

function valueOf(kind: ColumnKind, row: TrialKind, random: () => number): number {
  const index = row === 'mixed' ? upTo(4)(random) : trialKinds.indexOf(row)
  const value = columnValues[kind][index]!
  return typeof value === 'number' ? value : value(random)
}

/** Values in the order of `trialKinds`. */
type ColumnValues = readonly [
  ordinary: (random: () => number) => number,
  missing: number,
  zeros: number,
  huge: number,
]

/** The values of each kind of column in rows of each kind. */
const columnValues: Readonly<Record<ColumnKind, ColumnValues>> = {
  counter: [
    (random) => (random() < 0.05 ? NaN : Math.floor(Math.exp(9 * random()))),
    NaN,
    0,
    Number.MAX_SAFE_INTEGER,
  ],
  count: [upTo(4), 0, 0, Number.MAX_SAFE_INTEGER],
  time: [
    (random) => (random() < 0.1 ? NaN : cycleAtMs - Math.floor(random() * 600_000)),
    NaN,
    cycleAtMs,
    yearOneMs,
  ],
  past: [(random) => cycleAtMs - Math.floor(random() ** 2 * dayMs), cycleAtMs, cycleAtMs, yearOneMs],
  measure: [upTo(40), 0, 0, 2 ** 32 - 1],
  flag: [upTo(2), 0, 0, 1],
  source: [upTo(sourceCodes.length), 0, 0, sourceCodes.length - 1],
  galleryType: [upTo(galleryTypeCodes.length), absentCode, 0, galleryTypeCodes.length - 1],
}

function upTo(count: number): (random: () => number) => number {
  return (random) => Math.floor(count * random())
}

const vectorCount = 32

/** A vector of length 1 for ordinary and huge rows, one of a few; none for missing ones, zeros for zeros. */
function embeddings(kinds: readonly TrialKind[], dim: number, random: () => number): EmbeddingColumn {
  const row = Int32Array.from(kinds, (kind, slot) => {
    if (kind === 'missing') return -1
    return kind === 'zeros' ? 0 : 1 + (slot % vectorCount)
  })
  const vectors = new Float32Array((1 + vectorCount) * dim)
  for (let start = dim; start < vectors.length; start += dim) {
    const vector = vectors.subarray(start, start + dim)
    for (let i = 0; i < dim; i++) vector[i] = 2 * random() - 1
    scaleToLengthOne(vector)
  }
  return { dim, vectors, row }
}

function record<Name extends string, T>(names: readonly Name[], make: (name: Name) => T): Record<Name, T> {
  return Object.fromEntries(names.map((name) => [name, make(name)])) as Record<Name, T>
}
