/**
 * Encoders in a replay. A text or an image that ends the process of its encoder is found by bisection, reported once, and
 * missing from then on, as in the service.
 */
import {
  GatheredVectors,
  imageBatchEncoder,
  Quarantine,
  textBatchEncoder,
  type BatchEncoder,
} from '../cycle/index.js'
import {
  ModelDownError,
  type ImageEncoder,
  type ModelError,
  type TextEncoder,
  type Vectors,
} from '../model/index.js'

/** Texts per part, and the time of one encoder call. */
const textsPerPart = 200
const callMsMax = 250
/** Images per call of the encoder. */
const imagesPerCall = 8
/** How long a process that restarts is waited for. */
const restartMsMax = 60_000

/** A text, or an image of a post, that ends the process of its encoder. */
export interface LeftOut {
  readonly what: 'text' | 'image'
  readonly gallId: string
  readonly postNo: number
  /** The error of the encoder's process. */
  readonly problem: string
}

/** A stored image and the first post that has it. */
export interface Picture {
  readonly gallId: string
  readonly postNo: number
  readonly sha256: Uint8Array
  readonly bytes: Uint8Array
}

/** For one model, and as many cycles as are replayed with it. */
export class CarefulReplay {
  readonly #quarantine = new Quarantine()
  readonly #report: (left: LeftOut) => void

  /** `report` is called once for each text and each image that is left out. */
  constructor(report: (left: LeftOut) => void) {
    this.#report = report
  }

  /** Vectors by record, within the time. Rejects with a `ModelError` when the encoder itself fails. */
  async texts(encoder: TextEncoder, records: readonly Uint8Array[], msMax: number): Promise<Vectors> {
    const endMs = performance.now() + msMax
    const all = new GatheredVectors(records.length, encoder.dim)
    for (let from = 0; from < records.length; from += textsPerPart) {
      const rows = [...records.keys()].slice(from, from + textsPerPart)
      await this.#encodeTexts(encoder, records, rows, all, endMs)
    }
    return all.vectors
  }

  /** As many texts per call as its time allows. When a call makes no vector of several, each is tried alone. */
  async #encodeTexts(
    encoder: TextEncoder,
    records: readonly Uint8Array[],
    rows: readonly number[],
    all: GatheredVectors,
    endMs: number,
  ): Promise<void> {
    let left = rows
    while (left.length > 0 && performance.now() < endMs) {
      const texts = left.map((row) => records[row] as Uint8Array)
      const made = await this.#encode(textBatchEncoder(encoder), texts, callMsMax, (row, { message }) => {
        const { gall_id, post_no } = JSON.parse(Buffer.from(texts[row] as Uint8Array).toString()) as {
          gall_id: string
          post_no: number
        }
        this.#report({ what: 'text', gallId: gall_id, postNo: post_no, problem: message })
      })
      all.take(left, made)
      const missing = all.missing(left)
      if (missing.length === left.length) {
        if (left.length > 1)
          for (const row of left) await this.#encodeTexts(encoder, records, [row], all, endMs)
        return
      }
      left = missing
    }
  }

  /** Vectors by image. Rejects with a `ModelError` when the encoder itself fails. */
  async pictures(encoder: ImageEncoder, pictures: readonly Picture[]): Promise<Vectors> {
    const all = new GatheredVectors(pictures.length, encoder.dim)
    for (let from = 0; from < pictures.length; from += imagesPerCall) {
      const part = pictures.slice(from, from + imagesPerCall)
      const images = part.map(({ bytes }) => bytes)
      const made = await this.#encode(imageBatchEncoder(encoder), images, Infinity, (row, { message }) => {
        const { gallId, postNo } = part[row] as Picture
        this.#report({ what: 'image', gallId, postNo, problem: message })
      })
      all.take(
        part.map((_, i) => from + i),
        made,
      )
    }
    return all.vectors
  }

  async #encode(
    encoder: BatchEncoder,
    items: readonly Uint8Array[],
    budgetMs: number,
    onQuarantined: (row: number, error: ModelError) => void,
  ): Promise<Vectors> {
    const made = await this.#quarantine.encode(encoder, items, {
      budgetMs,
      background: { restartMsMax },
      onQuarantined,
    })
    if (made.isProcessDown) throw new ModelDownError('the encoder does not come back')
    return made
  }
}
