/**
 * Inputs of the model that the recorded cycle does not contain: for each scored post, whether its text was encoded, and
 * which of its images were stored and encoded. A record is stored with each cycle, so that a replay uses the same inputs.
 *
 *   zstd of: u32 length of the first table · two packed tables (codec/pack.ts)
 *   rows     one per scored post: 1 if its text was encoded. Header: layout, hashes of the encoders
 *   images   one per stored image of a scored post: row of the post, position of the image, 1 if it was encoded
 */
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { packTable, unpackTable } from '../codec/index.js'
import { assert } from '../contract/index.js'
import type { Model } from '../model/index.js'
import { gallIdAt, type CyclePlan, type ScoringInputs } from '../pool/index.js'
import { StoreError, type Position, type Store } from '../store/index.js'
import type { Embeddings } from './embeddings/index.js'
import type { ImageCounts } from './image-counts.js'

export interface Availability {
  /** Hashes of the encoders of the model that scored; null if it had none. */
  readonly textEncoder: string | null
  readonly imageEncoder: string | null
  /** By scored row: 1 if the text was encoded. */
  readonly textEncoded: Uint8Array
  readonly images: StoredImages
}

/** The stored images of the scored posts, as columns: by row of the post, then by position. */
export interface StoredImages {
  readonly row: Float64Array
  readonly position: Float64Array
  /** 1 for an image that was encoded. */
  readonly encoded: Float64Array
}

const layout = 1
const lengthBytes = 4

/** Call it in the turn of the event loop in which the inputs were made. */
export function availabilityOf(
  model: Model,
  { scoring, next }: CyclePlan,
  { textEncoded, imagesStored }: Pick<ScoringInputs, 'textEncoded' | 'imagesStored'>,
  sources: { readonly images: ImageCounts; readonly embeddings: Embeddings },
): Availability {
  const [row, position, encoded]: [number[], number[], number[]] = [[], [], []]
  const textEncodedByRow = new Uint8Array(scoring.count)
  for (let scoredRow = 0; scoredRow < scoring.count; scoredRow++) {
    const slot = scoring.slots[scoredRow] as number
    textEncodedByRow[scoredRow] = textEncoded[slot] as number
    if (imagesStored[slot] === 0) continue
    const gallId = gallIdAt(next, slot)
    const postNo = next.postNo[slot] as number
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
      row: Float64Array.from(row),
      position: Float64Array.from(position),
      encoded: Float64Array.from(encoded),
    },
  }
}

export function packAvailability({
  textEncoder,
  imageEncoder,
  textEncoded,
  images,
}: Availability): Uint8Array {
  const header = { layout, textEncoder, imageEncoder }
  const rows = packTable(header, textEncoded.length, [new Float64Array(textEncoded)])
  const { row, position, encoded } = images
  const imageTable = packTable({}, row.length, [row, position, encoded])
  const length = Buffer.alloc(lengthBytes)
  length.writeUInt32LE(rows.length)
  return zstdCompressSync(Buffer.concat([length, rows, imageTable]))
}

/** The record of the cycle at `position`; null if it has none, as cycles of earlier versions. */
export function readAvailability(store: Store, position: Position): Availability | null {
  const packed = store.readAvailability(position)
  if (packed === undefined) return null
  const bytes = zstdDecompressSync(packed)
  const imagesStart = lengthBytes + bytes.readUInt32LE()
  const { header, columns } = unpackTable(bytes.subarray(lengthBytes, imagesStart))
  const { layout: found, textEncoder, imageEncoder } = header as Availability & { readonly layout: number }
  if (found !== layout)
    throw new StoreError('unusable', `the availability record has layout ${found}, not ${layout}`)
  const [row, places, encoded] = unpackTable(bytes.subarray(imagesStart)).columns
  if (columns[0] === undefined || row === undefined || places === undefined || encoded === undefined)
    throw new StoreError('unusable', 'the availability record lacks columns')
  return {
    textEncoder,
    imageEncoder,
    textEncoded: Uint8Array.from(columns[0]),
    images: { row, position: places, encoded },
  }
}
