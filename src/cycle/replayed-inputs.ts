/**
 * What a model reads of a replayed cycle: its rows, with texts and images encoded for the purpose. Nothing is stored,
 * and no cache is asked: for a few rows, or for a model that no server has loaded.
 */
import { poolVectors, type EmbeddingColumn, type Model, type ModelInputs } from '../model/index.js'
import type { PoolState } from '../pool/index.js'
import type { Store } from '../store/index.js'
import type { ReplayedCycle } from './replay.js'

export interface ReplayedInputs {
  /** Row r is row `rows[r]` of the cycle's scored rows. */
  readonly inputs: ModelInputs
  /** By row: the record that the text encoder has read, or null. */
  readonly records: readonly (Uint8Array | null)[]
  /** By row: the pictures that the image encoder has read, in position order. */
  readonly pictures: readonly (readonly Uint8Array[])[]
}

/** Rejects with a `ModelError` when an encoder fails. `encodeMsMax` bounds the time for all texts. */
export async function replayedInputs(
  store: Store,
  model: Pick<Model, 'text' | 'image'>,
  again: ReplayedCycle,
  rows: readonly number[],
  encodeMsMax: number,
): Promise<ReplayedInputs> {
  const { scoring, next } = again.plan
  const slots = Uint32Array.from(rows, (row) => scoring.slots[row] as number)
  const readings = Uint32Array.from(rows, (row) => scoring.readings[row] as number)
  const texts = await encodeTexts(model, again, slots, encodeMsMax)
  const images = await encodeImages(model, store, next, slots)
  return {
    inputs: {
      ...scoring,
      count: rows.length,
      slots,
      readings,
      imagesStored: again.imagesStored,
      imagesEncoded: images.encoded,
      textEncoded: texts.encoded,
      text: texts.column,
      image: images.column,
    },
    records: texts.records,
    pictures: images.pictures,
  }
}

interface EncodedTexts {
  readonly column: EmbeddingColumn | null
  readonly encoded: Uint8Array
  readonly records: readonly (Uint8Array | null)[]
}

async function encodeTexts(
  { text }: Pick<Model, 'text'>,
  again: ReplayedCycle,
  slots: Uint32Array,
  encodeMsMax: number,
): Promise<EncodedTexts> {
  const slotCount = again.plan.next.count
  const encoded = new Uint8Array(slotCount)
  if (text === null || slots.length === 0)
    return { column: null, encoded, records: Array.from(slots, () => null) }
  const records = Array.from(slots, (slot) => again.recordOf(slot))
  const found = await text.encode(records, encodeMsMax)
  const row = new Int32Array(slotCount).fill(-1)
  slots.forEach((slot, index) => {
    if (found.encoded[index] !== 1) return
    row[slot] = index
    encoded[slot] = 1
  })
  return {
    column: { dim: text.dim, vectors: found.vectors, row },
    encoded,
    records: records.map((record, index) => (found.encoded[index] === 1 ? record : null)),
  }
}

interface EncodedImages {
  readonly column: EmbeddingColumn | null
  readonly encoded: Uint32Array
  readonly pictures: readonly (readonly Uint8Array[])[]
}

async function encodeImages(
  { image }: Pick<Model, 'image'>,
  store: Store,
  state: PoolState,
  slots: Uint32Array,
): Promise<EncodedImages> {
  const encoded = new Uint32Array(state.count)
  if (image === null) return { column: null, encoded, pictures: Array.from(slots, () => []) }
  const { dim, pooling } = image
  const vectors = new Float32Array(slots.length * dim)
  const row = new Int32Array(state.count).fill(-1)
  const pictures: Uint8Array[][] = []
  for (const [index, slot] of slots.entries()) {
    const stored = storedPictures(store, state, slot)
    const found = stored.length === 0 ? null : await image.encode(stored)
    const readable = [...stored.keys()].filter((picture) => found?.encoded[picture] === 1)
    pictures.push(readable.map((picture) => stored[picture] as Uint8Array))
    if (found === null || readable.length === 0) continue
    const each = readable.map((picture) => found.vectors.subarray(picture * dim, (picture + 1) * dim))
    vectors.set(poolVectors(each, pooling), index * dim)
    row[slot] = index
    encoded[slot] = readable.length
  }
  return { column: { dim, vectors, row }, encoded, pictures }
}

/** Normalised copies of a post's images, in position order. */
function storedPictures(store: Store, state: PoolState, slot: number): Uint8Array[] {
  const gallId = state.galleries[state.gallery[slot] as number] as string
  const postNo = state.postNo[slot] as number
  return store
    .imagePositions(gallId, postNo)
    .map((position) => store.findImage({ gallId, postNo, position })?.normalised)
    .filter((picture) => picture !== undefined)
}
