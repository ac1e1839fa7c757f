/**
 * Trial rows: ordinary posts, and extreme ones that a client may send. Made from a seed, so that a report can be
 * reproduced.
 */
import {
  absentCode,
  counterNames,
  galleryTypeCodes,
  snapshotNames,
  sourceCodes,
  statusOk,
  textMeasureNames,
  type PostColumns,
  type TextColumns,
} from '../../contract/index.js'
import type { EmbeddingColumn, ModelInputs } from '../model.js'

/** The kind of a row's values. */
export const trialKinds = ['ordinary', 'missing', 'zeros', 'huge', 'mixed'] as const
export type TrialKind = (typeof trialKinds)[number]

/** Noon in Korea on a day in June. */
const cycleAtMs = Date.UTC(2026, 5, 1, 3, 0)
const dayMs = 86_400_000
/** 0001-01-01: the first date that a client can send. */
const yearOneMs = -62_135_596_800_000

/** The kinds of columns, by the values that they may hold. */
type ColumnKind = 'counter' | 'count' | 'time' | 'past' | 'measure' | 'flag' | 'source' | 'galleryType'

export interface TrialOptions {
  readonly textDim: number | null
  readonly imageDim: number | null
  readonly seed: number
}

/** Inputs of one row a kind, in that order. Row r is slot r and reading r. */
export function trialInputs(kinds: readonly TrialKind[], options: TrialOptions): ModelInputs {
  const count = kinds.length
  const random = randomNumbers(options.seed)
  const column = <T extends Float64Array | Uint32Array | Uint8Array>(values: T, kind: ColumnKind): T => {
    kinds.forEach((row, index) => (values[index] = valueOf(kind, row, random)))
    return values
  }
  const counters = <Name extends string>(names: readonly Name[]): Record<Name, Float64Array> =>
    record(names, () => column(new Float64Array(count), 'counter'))
  const rows = Uint32Array.from({ length: count }, (_, row) => row)
  return {
    cycleAtMs,
    count,
    slots: rows,
    readings: rows.slice(),
    posts: postColumns(count, column),
    engagement: {
      count,
      gallery: new Uint32Array(count),
      postNo: Float64Array.from(rows),
      status: new Uint8Array(count).fill(statusOk),
      observedAtMs: column(new Float64Array(count), 'past'),
      observedAtFraction: new Float64Array(count),
      ...counters(counterNames),
    },
    previous: {
      observedAtMs: column(new Float64Array(count), 'time'),
      observedAtFraction: new Float64Array(count),
      ...counters(counterNames),
    },
    snapshot: {
      snapshotAtMs: column(new Float64Array(count), 'time'),
      snapshotAtFraction: new Float64Array(count),
      ...counters(snapshotNames),
    },
    imagesStored: column(new Uint32Array(count), 'measure'),
    imagesEncoded: column(new Uint32Array(count), 'measure'),
    textEncoded: column(new Uint8Array(count), 'flag'),
    text: options.textDim === null ? null : embeddings(kinds, options.textDim, random),
    image: options.imageDim === null ? null : embeddings(kinds, options.imageDim, random),
  }
}

/** `count` rows, most of them ordinary, every eighth of another kind. */
export function manyKinds(count: number): TrialKind[] {
  return Array.from({ length: count }, (_, row) =>
    row % 8 === 7 ? (trialKinds[Math.floor(row / 8) % trialKinds.length] as TrialKind) : 'ordinary',
  )
}

/** The rows of `inputs` in another order: row r is row `order[r]` of `inputs`. `order` may leave rows out. */
export function reordered(inputs: ModelInputs, order: readonly number[]): ModelInputs {
  return {
    ...inputs,
    count: order.length,
    slots: Uint32Array.from(order, (row) => inputs.slots[row] as number),
    readings: Uint32Array.from(order, (row) => inputs.readings[row] as number),
  }
}

/** 0 to `count` - 1 in an order that depends on the seed alone. */
export function shuffled(count: number, seed: number): number[] {
  const random = randomNumbers(seed)
  const order = Array.from({ length: count }, (_, index) => index)
  for (let last = count - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1))
    ;[order[last], order[other]] = [order[other] as number, order[last] as number]
  }
  return order
}

function postColumns(
  count: number,
  column: <T extends Float64Array | Uint32Array | Uint8Array>(values: T, kind: ColumnKind) => T,
): PostColumns {
  const measures = (): TextColumns =>
    record(textMeasureNames, () => column(new Uint32Array(count), 'measure'))
  return {
    createdAtMs: column(new Float64Array(count), 'past'),
    createdAtFraction: new Float64Array(count),
    extractedAtMs: column(new Float64Array(count), 'past'),
    extractedAtFraction: new Float64Array(count),
    source: column(new Uint8Array(count), 'source'),
    manualFlag: column(new Uint8Array(count), 'flag'),
    imagesInPost: column(new Float64Array(count), 'count'),
    imagesExpected: column(new Float64Array(count), 'counter'),
    imagePositionsFingerprint: new Uint32Array(count),
    galleryType: column(new Uint8Array(count), 'galleryType'),
    categoryId: column(new Float64Array(count), 'counter'),
    bodyPresent: column(new Uint8Array(count), 'flag'),
    title: measures(),
    body: measures(),
  }
}

function valueOf(kind: ColumnKind, row: TrialKind, random: () => number): number {
  if (row === 'mixed')
    return valueOf(kind, plainKinds[Math.floor(random() * plainKinds.length)] as TrialKind, random)
  const value = columnValues[kind][row]
  return typeof value === 'number' ? value : value(random)
}

const plainKinds = trialKinds.filter((kind) => kind !== 'mixed')

/** The values of each kind of column in rows of each kind. */
const columnValues: Readonly<
  Record<
    ColumnKind,
    Readonly<Record<Exclude<TrialKind, 'mixed'>, number | ((random: () => number) => number)>>
  >
> = {
  counter: {
    ordinary: (random) => (random() < 0.05 ? NaN : Math.floor(Math.exp(9 * random()))),
    ...{ missing: NaN, zeros: 0, huge: Number.MAX_SAFE_INTEGER },
  },
  count: { ordinary: upTo(4), missing: 0, zeros: 0, huge: Number.MAX_SAFE_INTEGER },
  time: {
    ordinary: (random) => (random() < 0.1 ? NaN : cycleAtMs - Math.floor(random() * 600_000)),
    ...{ missing: NaN, zeros: cycleAtMs, huge: yearOneMs },
  },
  past: {
    ordinary: (random) => cycleAtMs - Math.floor(random() ** 2 * dayMs),
    ...{ missing: cycleAtMs, zeros: cycleAtMs, huge: yearOneMs },
  },
  measure: { ordinary: upTo(40), missing: 0, zeros: 0, huge: 2 ** 32 - 1 },
  flag: { ordinary: (random) => (random() < 0.5 ? 0 : 1), missing: 0, zeros: 0, huge: 1 },
  source: { ordinary: upTo(sourceCodes.length), missing: 0, zeros: 0, huge: sourceCodes.length - 1 },
  galleryType: {
    ordinary: upTo(galleryTypeCodes.length),
    ...{ missing: absentCode, zeros: 0, huge: galleryTypeCodes.length - 1 },
  },
}

function upTo(count: number): (random: () => number) => number {
  return (random) => Math.floor(count * random())
}

/** Vectors of length 1 for ordinary and huge rows, none for missing ones, zeros for zeros. */
function embeddings(kinds: readonly TrialKind[], dim: number, random: () => number): EmbeddingColumn {
  const row = Int32Array.from(kinds, (kind, slot) => (kind === 'missing' ? -1 : slot))
  const vectors = new Float32Array(kinds.length * dim)
  kinds.forEach((kind, slot) => {
    if (kind === 'missing' || kind === 'zeros') return
    const vector = vectors.subarray(slot * dim, (slot + 1) * dim)
    for (let i = 0; i < dim; i++) vector[i] = 2 * random() - 1
    const length = Math.hypot(...vector)
    for (let i = 0; i < dim; i++) vector[i] = (vector[i] as number) / length
  })
  return { dim, vectors, row }
}

/** mulberry32: uniform in 0 to 1, the same on every machine. */
function randomNumbers(start: number): () => number {
  let state = start | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

function record<Name extends string, T>(names: readonly Name[], make: (name: Name) => T): Record<Name, T> {
  return Object.fromEntries(names.map((name) => [name, make(name)])) as Record<Name, T>
}
