/**
 * The inputs of a model for a replayed cycle: its rows, with vectors of texts and images that are cached or computed for
 * the purpose. Nothing is stored.
 */
import { imageBatchEncoder, textBatchEncoder, type Availability, type Quarantine } from '../../cycle/index.js'
import {
  poolVectors,
  type EmbeddingColumn,
  type ImageEncoder,
  type Model,
  type ModelInputs,
  type TextEncoder,
} from '../../model/index.js'
import { gallIdAt, type PoolState } from '../../pool/index.js'
import type { ImageKey, Store } from '../../store/index.js'
import type { VectorCache } from './vector-cache.js'
import type { ReplayedCycle } from './replay.js'

export interface ReplayedInputs {
  /** Row r is row `rows[r]` of the cycle's scored rows. */
  readonly inputs: ModelInputs
  /** The images of each row that were encoded for this call, in position order. */
  readonly jpegs: readonly (readonly Uint8Array[])[]
}

/** A text, or an image of a post, that ends the process of its encoder. */
export interface ExcludedInput {
  readonly what: 'text' | 'image'
  readonly gallId: string
  readonly postNo: number
  /** The error of the encoder's process. */
  readonly problem: string
}

export interface ReplayEncoding {
  /** The limit for all texts of the rows together. */
  readonly encodeMsMax: number
  /** One for all cycles that are replayed with a model. */
  readonly quarantine: Quarantine
  /** Called once for each text and image that is quarantined. */
  readonly onExcluded: (excluded: ExcludedInput) => void
  /** Vectors are read from here and added here. */
  readonly cache: VectorCache | null
}

/**
 * The inputs for some of the scored rows. Rejects with a `ModelError` when an encoder fails; texts and images that end its
 * process are missing. With a cache, `jpegs` lacks the images with cached vectors.
 */
export async function replayedInputs(
  store: Store,
  model: Pick<Model, 'text' | 'image'>,
  replayed: ReplayedCycle,
  rows: readonly number[],
  encoding: ReplayEncoding,
): Promise<ReplayedInputs> {
  const { scoring, next } = replayed.plan
  const slots = Uint32Array.from(rows, (row) => scoring.slots[row]!)
  const readings = Uint32Array.from(rows, (row) => scoring.readings[row]!)
  const text = await encodeTexts(model, replayed, { rows, slots }, encoding)
  const images = await encodeImages(model, store, replayed, { rows, slots }, encoding)
  return {
    inputs: {
      ...scoring,
      count: rows.length,
      slots,
      readings,
      imagesStored: replayed.inputState.imagesStored,
      imagesEncoded: images.encoded,
      textEncoded: Uint8Array.from({ length: next.count }, (_, slot) => Number((text?.row[slot] ?? -1) >= 0)),
      text,
      image: images.column,
    },
    jpegs: images.jpegs,
  }
}

interface ChosenRows {
  readonly rows: readonly number[]
  readonly slots: Uint32Array
}

async function encodeTexts(
  { text }: Pick<Model, 'text'>,
  replayed: ReplayedCycle,
  { rows, slots }: ChosenRows,
  { encodeMsMax, quarantine, onExcluded, cache }: ReplayEncoding,
): Promise<EmbeddingColumn | null> {
  const { next } = replayed.plan
  if (text === null || slots.length === 0) return null
  const { dim } = text
  const vectors = new Float32Array(slots.length * dim)
  const row = new Int32Array(next.count).fill(-1)
  const put = (index: number, vector: Float32Array): void => {
    vectors.set(vector, index * dim)
    row[slots[index]!] = index
  }
  const hasText = textsOf(text, replayed.availability)
  const unknown: number[] = []
  for (const [index, slot] of slots.entries()) {
    if (!hasText(rows[index]!)) continue
    const vector = cache?.text(text, next, slot)
    if (vector === undefined) unknown.push(index)
    else put(index, vector)
  }
  if (unknown.length > 0) {
    const records = unknown.map((index) => replayed.recordOf(slots[index]!))
    const untilMs = performance.now() + encodeMsMax
    const made = await quarantine.encodeAll(textBatchEncoder(text), records, {
      ended: () => performance.now() > untilMs,
      onQuarantined: (batchRow, { message }) => {
        const slot = slots[unknown[batchRow]!]!
        onExcluded({ what: 'text', ...nameOf(next, slot), problem: message })
      },
    })
    for (const [batchRow, index] of unknown.entries()) {
      if (made.encoded[batchRow] !== 1) continue
      const vector = made.vectors.slice(batchRow * dim, (batchRow + 1) * dim)
      put(index, vector)
      cache?.keepText(next, slots[index]!, vector)
    }
  }
  return { dim, vectors, row }
}

interface EncodedImages {
  readonly column: EmbeddingColumn | null
  readonly encoded: Uint32Array
  readonly jpegs: readonly (readonly Uint8Array[])[]
}

async function encodeImages(
  { image }: Pick<Model, 'image'>,
  store: Store,
  { plan, availability }: ReplayedCycle,
  { rows, slots }: ChosenRows,
  encoding: ReplayEncoding,
): Promise<EncodedImages> {
  const state = plan.next
  const encoded = new Uint32Array(state.count)
  const jpegs: Uint8Array[][] = Array.from(slots, () => [])
  if (image === null) return { column: null, encoded, jpegs }
  const { dim, pooling } = image
  const vectors = new Float32Array(slots.length * dim)
  const row = new Int32Array(state.count).fill(-1)
  const positionsOf = imagesOf(image, availability)
  for (const [index, slot] of slots.entries()) {
    const { gallId, postNo } = nameOf(state, slot)
    const keys = positionsOf(rows[index]!).map((position) => ({ gallId, postNo, position }))
    const each = await encodePost(image, store, keys, encoding, jpegs[index] ?? [])
    if (each.length === 0) continue
    vectors.set(poolVectors(each, pooling), index * dim)
    row[slot] = index
    encoded[slot] = each.length
  }
  return { column: { dim, vectors, row }, encoded, jpegs }
}

/** Vectors of a post's images in position order; the images that were encoded are appended to `read`. */
async function encodePost(
  image: ImageEncoder,
  store: Store,
  keys: readonly ImageKey[],
  { quarantine, onExcluded, cache }: ReplayEncoding,
  read: Uint8Array[],
): Promise<Float32Array[]> {
  const vectors: (Float32Array | undefined)[] = []
  const unknown: { readonly keyIndex: number; readonly sha256: Uint8Array; readonly bytes: Uint8Array }[] = []
  for (const [keyIndex, key] of keys.entries()) {
    const sha256 = store.readImageHash(key)
    const vector = sha256 && cache?.image(image, sha256)
    vectors.push(vector)
    const stored = vector === undefined ? store.findImage(key) : undefined
    if (stored !== undefined) unknown.push({ keyIndex, sha256: stored.sha256, bytes: stored.normalised })
  }
  if (unknown.length > 0) {
    const { dim } = image
    const jpegs = unknown.map(({ bytes }) => bytes)
    const made = await quarantine.encodeAll(imageBatchEncoder(image), jpegs, {
      onQuarantined: (index, { message }) => {
        const { gallId, postNo } = keys[(unknown[index] as { keyIndex: number }).keyIndex]!
        onExcluded({ what: 'image', gallId, postNo, problem: message })
      },
    })
    for (const [index, { keyIndex, sha256, bytes }] of unknown.entries()) {
      if (made.encoded[index] !== 1) continue
      const vector = made.vectors.slice(index * dim, (index + 1) * dim)
      vectors[keyIndex] = vector
      cache?.keepImage(sha256, vector)
      read.push(bytes)
    }
  }
  return vectors.filter((vector) => vector !== undefined)
}

/**
 * Whether the text of a scored row had a vector in the cycle. That is only known for the encoder of the model that scored;
 * any other encoder gets all texts.
 */
function textsOf(text: TextEncoder, availability: Availability): (row: number) => boolean {
  if (availability.textEncoder !== text.hash) return () => true
  return (row) => availability.textEncoded[row] === 1
}

/**
 * The positions of the images of a scored row that had a vector in the cycle; for another encoder than that of the model that
 * scored, of those that were stored.
 */
function imagesOf(image: ImageEncoder, availability: Availability): (row: number) => readonly number[] {
  const isSame = availability.imageEncoder === image.hash
  const positions = new Map<number, number[]>()
  const { images } = availability
  for (const [i, row] of images.row.entries())
    if (images.encoded[i] === 1 || !isSame)
      positions.set(row, [...(positions.get(row) ?? []), images.position[i]!])
  return (row) => positions.get(row) ?? []
}

function nameOf(state: PoolState, slot: number): { readonly gallId: string; readonly postNo: number } {
  return { gallId: gallIdAt(state, slot), postNo: state.postNo[slot]! }
}
