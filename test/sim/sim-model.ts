/**
 * A model whose scores identify their inputs: the version, the readings, the snapshot, the images and the text. The seed
 * decides when it is slow, fails or skips texts.
 */
import type { HeadColumns } from '../../src/contract/index.js'
import { ModelError, type Model, type ModelInputs, type TextEncoder } from '../../src/model/index.js'
import type { Scheduler } from './scheduler.js'

/** The inputs that `p_views` of a scored row depends on. */
export interface RowInputs {
  readonly views: number | null
  readonly viewsBefore: number | null
  readonly hits: number | null
}

const shares = 4096

/** `p_views`: a hash of the version and of the readings. */
export function viewsShare(version: string, { views, viewsBefore, hits }: RowInputs): number {
  const text = `${version} ${views ?? '-'} ${viewsBefore ?? '-'} ${hits ?? '-'}`
  return hashOf(text) / shares
}

/** `p_comments`: the number of stored images. */
export function imagesShare(imagesStored: number): number {
  return imagesStored / 64
}

/** `p_up`: a hash of the title; 0 means that the text is not encoded. */
export function titleShare(title: string): number {
  return (1 + (hashOf(title) % (shares - 1))) / shares
}

function hashOf(text: string): number {
  let sum = 0x811c9dc5
  for (let i = 0; i < text.length; i++) sum = Math.imul(sum ^ text.charCodeAt(i), 0x01000193) >>> 0
  return ((sum ^ (sum >>> 15)) >>> 0) % shares
}

export interface SimModelParts {
  readonly version: string
  /** Models with the same name share an encoder; null: no text encoder. */
  readonly encoder: string | null
  readonly scheduler: Scheduler
  readonly incarnation: () => number
  /** Probability that a batch fails. */
  readonly failing: () => number
  readonly onFault: () => void
  /** The most steps that a slow call takes. */
  readonly delayStepsMax: number
}

export class SimModel implements Model {
  readonly kind = 'trained'
  readonly provider = 'none'
  readonly image = null
  readonly text: TextEncoder | null
  readonly #parts: SimModelParts

  constructor(parts: SimModelParts) {
    this.#parts = parts
    this.text =
      parts.encoder === null
        ? null
        : {
            hash: parts.encoder,
            dim: 1,
            encode: (records, budgetMs = Infinity) => this.#encode(records, budgetMs),
          }
  }

  get version(): string {
    return this.#parts.version
  }

  async predict(inputs: ModelInputs): Promise<HeadColumns> {
    const heads = headsOf(this.version, inputs)
    await this.#respond('predict')
    return heads
  }

  async #encode(
    records: readonly Uint8Array[],
    budgetMs: number,
  ): Promise<{ vectors: Float32Array; encoded: Uint8Array }> {
    const { random } = this.#parts.scheduler
    const vectors = Float32Array.from(records, (record) => {
      const { title } = JSON.parse(Buffer.from(record).toString()) as { title: string }
      return titleShare(title)
    })
    const left = (): boolean => budgetMs !== Infinity && random.chance(0.2)
    const encoded = Uint8Array.from(records, () => (left() ? 0 : 1))
    vectors.forEach((_, i) => {
      if (encoded[i] === 0) vectors[i] = 0
    })
    await this.#respond('encode')
    return { vectors, encoded }
  }

  async #respond(what: string): Promise<void> {
    const { scheduler, incarnation, failing, onFault, delayStepsMax, version } = this.#parts
    const delaySteps = scheduler.random.chance(0.3) ? scheduler.random.below(delayStepsMax) : 0
    const fails = scheduler.random.chance(failing())
    await scheduler.after({
      label: `${version} ${what}${fails ? ' fails' : ''}`,
      incarnation: incarnation(),
      delaySteps,
    })
    if (!fails) return
    onFault()
    throw new ModelError(`simulated failure of ${version}`)
  }
}

/** Reads the columns immediately, because the next cycle uses them again. */
function headsOf(version: string, inputs: ModelInputs): HeadColumns {
  const { count, slots, readings, engagement, previous, snapshot, imagesStored, text } = inputs
  const rows = Array.from({ length: count }, (_, row) => {
    const slot = slots[row]!
    const from = {
      views: nullable(engagement.views[readings[row]!]),
      viewsBefore: nullable(previous.views[slot]),
      hits: nullable(snapshot.hit_cnt[slot]),
    }
    const vector = text?.row[slot] ?? -1
    return {
      views: viewsShare(version, from),
      images: imagesShare(imagesStored[slot]!),
      text: vector < 0 ? 0 : text!.vectors[vector]!,
    }
  })
  return {
    p_views: Float32Array.from(rows, (row) => row.views),
    p_comments: Float32Array.from(rows, (row) => row.images),
    p_up: Float32Array.from(rows, (row) => row.text),
    downvote_share: null,
  }
}

function nullable(value: number | undefined): number | null {
  return value === undefined || Number.isNaN(value) ? null : value
}
