/**
 * Encoders in a replay: nobody asks again there, so a text or a picture that ends the process of its encoder is found
 * on the way, told once, and missing from then on, as it is for the service.
 */
import { CarefulTexts, Gathered, Poison } from '../cycle/index.js'
import { setTimeout as pause } from 'node:timers/promises'
import {
  ModelDownError,
  ModelError,
  type ImageEncoder,
  type TextEncoder,
  type Vectors,
} from '../model/index.js'

/** Texts that are tried together, and the time of one call: what ends the process is looked for among so many. */
const textsPerTry = 200
const tryMs = 250
/** Pictures that the encoder gets at a time. */
const picturesPerTry = 8
/** An encoder that has ended on so many before it has made one vector is to blame itself. */
const endsWithoutOneMax = 8
/** How long a process that starts again is waited for. */
const patienceMs = 60_000
const pauseMsMin = 50
const pauseMsMax = 2000
/** No encoder runs its graph on it, and one that is down cannot even say so. */
const noPicture = new Uint8Array(0)

/** A text, or a picture of a post, that its encoder did not survive. */
export interface LeftOut {
  readonly what: 'text' | 'image'
  readonly gallId: string
  readonly postNo: number
  /** In the words of the encoder's process. */
  readonly problem: string
}

/** A stored picture and the first post that was met with it. */
export interface Picture {
  readonly gallId: string
  readonly postNo: number
  readonly sha256: Uint8Array
  readonly bytes: Uint8Array
}

/** For one model, and as many cycles as are replayed with it. */
export class CarefulReplay {
  readonly #poison = new Poison()
  readonly #texts: CarefulTexts
  readonly #tell: (left: LeftOut) => void
  /** Pictures so far: with a vector, and without one before the first that had one. */
  #encodedCount = 0
  #endCount = 0

  /** `tell` hears of each text and each picture once. */
  constructor(tell: (left: LeftOut) => void) {
    this.#tell = tell
    this.#texts = new CarefulTexts({
      poison: this.#poison,
      log: {
        error: (fields) => {
          const { gall_id, post_no, problem } = fields as {
            gall_id: string
            post_no: number
            problem: string
          }
          tell({ what: 'text', gallId: gall_id, postNo: post_no, problem })
        },
      },
    })
  }

  /** Vectors by record, within the time. Rejects with a `ModelError` where the encoder itself fails. */
  async texts(encoder: TextEncoder, records: readonly Uint8Array[], msMax: number): Promise<Vectors> {
    const endMs = performance.now() + msMax
    const all = new Gathered(records.length, encoder.dim)
    for (let from = 0; from < records.length; from += textsPerTry) {
      const rows = [...records.keys()].slice(from, from + textsPerTry)
      await this.#textsOf(encoder, records, rows, all, endMs)
    }
    return all.vectors
  }

  /** As many at a time as their time allows; where one call makes nothing of several, each is tried alone. */
  async #textsOf(
    encoder: TextEncoder,
    records: readonly Uint8Array[],
    rows: readonly number[],
    all: Gathered,
    endMs: number,
  ): Promise<void> {
    let left = rows
    while (left.length > 0 && performance.now() < endMs) {
      const texts = left.map((row) => records[row] as Uint8Array)
      all.take(left, await this.#texts.encodeAtLast(encoder, texts, tryMs))
      const lacking = all.lacking(left)
      if (lacking.length === left.length) {
        if (left.length > 1) for (const row of left) await this.#textsOf(encoder, records, [row], all, endMs)
        return
      }
      left = lacking
    }
  }

  /** Vectors by picture. Rejects with a `ModelError` where the encoder itself fails. */
  async pictures(encoder: ImageEncoder, pictures: readonly Picture[]): Promise<Vectors> {
    const all = new Gathered(pictures.length, encoder.dim)
    const sound = [...pictures.keys()].filter(
      (row) => !this.#poison.has(this.#poison.key(encoder.hash, (pictures[row] as Picture).sha256)),
    )
    for (let from = 0; from < sound.length; from += picturesPerTry) {
      const rows = sound.slice(from, from + picturesPerTry)
      const batch = rows.map((row) => pictures[row] as Picture)
      const made = await tried(encoder, batch)
      if (!(made instanceof ModelError)) all.take(rows, made)
      else
        for (const row of rows) {
          const alone = await this.#alone(encoder, pictures[row] as Picture)
          if (alone !== null) all.take([row], alone)
        }
      this.#encodedCount += rows.length - all.lacking(rows).length
    }
    return all.vectors
  }

  /** After a batch with it has ended the process; null: it does so alone too. */
  async #alone(encoder: ImageEncoder, picture: Picture): Promise<Vectors | null> {
    const { gallId, postNo, sha256 } = picture
    const key = this.#poison.key(encoder.hash, sha256)
    // A post may hold one picture twice.
    if (this.#poison.has(key)) return null
    const made = await tried(encoder, [picture])
    if (!(made instanceof ModelError)) return made
    if (this.#encodedCount === 0 && ++this.#endCount === endsWithoutOneMax) throw made
    this.#poison.condemn(key)
    this.#tell({ what: 'image', gallId, postNo, problem: made.message })
    return null
  }
}

/**
 * The vectors, or what ended the process, which is up again then: it has run its graph on a picture of zeros, so it is
 * not to blame. Rejects where it does not come back.
 */
async function tried(encoder: ImageEncoder, pictures: readonly Picture[]): Promise<Vectors | ModelError> {
  for (;;) {
    try {
      return await encoder.encode(pictures.map(({ bytes }) => bytes))
    } catch (error) {
      if (!(error instanceof ModelError)) throw error
      await comesBack(encoder)
      if (!(error instanceof ModelDownError)) return error
    }
  }
}

async function comesBack(encoder: ImageEncoder): Promise<void> {
  const untilMs = performance.now() + patienceMs
  for (let pauseMs = pauseMsMin; ; pauseMs = Math.min(2 * pauseMs, pauseMsMax)) {
    try {
      await encoder.encode([noPicture])
      return
    } catch (error) {
      if (!(error instanceof ModelDownError) || performance.now() + pauseMs > untilMs) throw error
    }
    await pause(pauseMs)
  }
}
