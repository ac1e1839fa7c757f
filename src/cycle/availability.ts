/**
 * Inputs of the model that request and pool do not contain: for each scored post, whether its text was encoded, and which of
 * its images were stored and encoded. They are in the record of the cycle, so that a replay uses the same inputs.
 */
import { assert } from '../contract/index.js'
import type { Model } from '../model/index.js'
import { gallIdAt, type CyclePlan, type ScoringInputs } from '../pool/index.js'
import { readCycleHeader, readCycleTable, type CycleRows } from '../records/index.js'
import type { Embeddings } from './embeddings/index.js'
import type { ImageCounts } from './image-counts.js'

export interface Availability {
  /** Hashes of the encoders of the model that scored; null if it had none. */
  readonly textEncoder: string | null
  readonly imageEncoder: string | null
  /** 1 for each scored row whose text was encoded. */
  readonly textEncoded: Float64Array
  /** The stored images of the scored posts. */
  readonly images: CycleRows<'images'>
}

/** Valid for inputs of the same turn of the event loop: later, others may have been encoded. */
export function availabilityOf(
  model: Model,
  { scoring, next }: CyclePlan,
  { textEncoded, imagesStored }: Pick<ScoringInputs, 'textEncoded' | 'imagesStored'>,
  sources: { readonly images: ImageCounts; readonly embeddings: Embeddings },
): Availability {
  const [row, position, encoded]: [number[], number[], number[]] = [[], [], []]
  const textEncodedByRow = new Float64Array(scoring.count)
  for (let scoredRow = 0; scoredRow < scoring.count; scoredRow++) {
    const slot = scoring.slots[scoredRow]!
    textEncodedByRow[scoredRow] = textEncoded[slot]!
    if (imagesStored[slot] === 0) continue
    const gallId = gallIdAt(next, slot)
    const postNo = next.postNo[slot]!
    const stored = sources.images.positions(gallId, postNo)
    const withVector = new Set(sources.embeddings.encodedImages(model, gallId, postNo))
    assert(stored.length === imagesStored[slot], 'the images of a post do not change in one turn')
    for (const each of stored) {
      row.push(scoredRow)
      position.push(each)
      encoded.push(withVector.has(each) ? 1 : 0)
    }
  }
  return {
    textEncoder: model.text?.hash ?? null,
    imageEncoder: model.image?.hash ?? null,
    textEncoded: textEncodedByRow,
    images: {
      count: row.length,
      row: Float64Array.from(row),
      position: Float64Array.from(position),
      encoded: Float64Array.from(encoded),
    },
  }
}

/** What the model of a cycle had, from the record of the cycle. */
export function availabilityIn(record: Uint8Array): Availability {
  const { text_encoder, image_encoder } = readCycleHeader(record)
  return {
    textEncoder: text_encoder,
    imageEncoder: image_encoder,
    textEncoded: readCycleTable(record, 'scored').text_encoded,
    images: readCycleTable(record, 'images'),
  }
}
