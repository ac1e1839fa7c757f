/**
 * A model without processes that reads texts and images: each vector is derived from its input, each head from a
 * vector, and every call of an encoder is recorded.
 */
import type { HeadColumns } from '../../src/contract/index.js'
import {
  ModelDownError,
  ModelError,
  type EmbeddingColumn,
  type ImageEncoder,
  type Model,
  type ModelInputs,
  type TextEncoder,
  type Vectors,
} from '../../src/model/index.js'

const dim = 2

/** First value of the vector of a title: above 0, up to 1. */
export function titleShare(title: string): number {
  let sum = 7
  for (const char of title) sum = (sum * 31 + (char.codePointAt(0) ?? 0)) % 997
  return Math.fround((sum + 1) / 1000)
}

export class FakeTextEncoder implements TextEncoder {
  readonly dim = dim
  readonly hash: string
  /** Titles in the order in which they were encoded. */
  readonly titles: string[] = []
  /** Number of texts that each next call encodes before its time limit; without an entry, all. */
  readonly limits: number[] = []
  readonly unreadable = new Set<string>()
  /** Titles on which the graph returns an error. */
  readonly erring = new Set<string>()
  /** A batch with one of these titles crashes the process, so the next call fails too. */
  readonly crashing = new Set<string>()
  #isDown = false
  failing = false
  /** Calls wait for this promise. */
  blockedBy: Promise<void> = Promise.resolve()
  callCount = 0

  constructor(hash: string) {
    this.hash = hash
  }

  async encode(records: readonly Uint8Array[]): Promise<Vectors> {
    const titles = records.map(titleOf)
    this.callCount++
    const limit = this.limits.shift() ?? Infinity
    await this.blockedBy
    if (this.#isDown) {
      this.#isDown = false
      throw new ModelDownError('the text encoder is restarting')
    }
    if (this.failing) throw new ModelError('the text encoder fails on purpose')
    if (titles.some((title) => this.crashing.has(title))) {
      this.#isDown = true
      throw new ModelError('the text encoder crashed')
    }
    const vectors = new Float32Array(titles.length * dim)
    const encoded = new Uint8Array(titles.length)
    for (const [row, title] of titles.entries()) {
      if (row >= limit || this.unreadable.has(title) || this.erring.has(title)) continue
      this.titles.push(title)
      vectors.set([titleShare(title), 1], row * dim)
      encoded[row] = 1
    }
    const failures = [...titles.entries()].flatMap(([item, title]) =>
      this.erring.has(title) ? [{ item, reason: 'the graph returns an error' }] : [],
    )
    return { vectors, encoded, failures }
  }
}

/** An image is one byte here; the first value of its vector is its entry in `values`, or a share of 255. */
export class FakeImageEncoder implements ImageEncoder {
  readonly dim = dim
  readonly hash: string
  readonly pooling: 'mean' | 'max'
  readonly required: boolean
  readonly values = new Map<number, number>()
  /** Images in the order in which they were encoded. */
  readonly encodedImages: number[] = []
  /** A batch with one of these images fails. */
  readonly crashing = new Set<number>()
  failing = false

  constructor(hash: string, options: { pooling?: 'mean' | 'max'; required?: boolean } = {}) {
    this.hash = hash
    this.pooling = options.pooling ?? 'mean'
    this.required = options.required ?? false
  }

  async encode(images: readonly Uint8Array[]): Promise<Vectors> {
    await Promise.resolve()
    const firstBytes = images.map((image) => image[0]!)
    if (this.failing || firstBytes.some((byte) => this.crashing.has(byte)))
      throw new ModelError('the image encoder fails on purpose')
    // A real JPEG is the control image.
    this.encodedImages.push(...images.flatMap((image) => (image.length === 1 ? image[0]! : [])))
    const vectors = new Float32Array(firstBytes.length * dim)
    for (const [row, byte] of firstBytes.entries())
      vectors.set([this.values.get(byte) ?? byte / 255, 1], row * dim)
    return { vectors, encoded: new Uint8Array(firstBytes.length).fill(1) }
  }
}

/** p_views is the first value of the text's vector, p_comments that of the images; 0 without a vector. */
export class EncodingModel implements Model {
  readonly version: string
  readonly kind = 'trained'
  readonly provider = 'none'
  readonly text: FakeTextEncoder | null
  readonly image: FakeImageEncoder | null
  failing = false
  /** Predictions wait for this promise after they have read their inputs. */
  blockedBy: Promise<void> = Promise.resolve()
  /** Predictions so far. */
  readonly predicted: HeadColumns[] = []

  constructor(version: string, text: FakeTextEncoder | null, image: FakeImageEncoder | null = null) {
    this.version = version
    this.text = text
    this.image = image
  }

  async predict(inputs: ModelInputs): Promise<HeadColumns> {
    const heads = {
      p_views: firstNumbers(inputs, inputs.text),
      p_comments: firstNumbers(inputs, inputs.image),
      p_up: null,
      downvote_share: null,
    }
    await this.blockedBy
    if (this.failing) throw new ModelError('the model fails on purpose')
    this.predicted.push(heads)
    return heads
  }
}

function firstNumbers({ slots, count }: ModelInputs, column: EmbeddingColumn | null): Float32Array {
  return Float32Array.from(slots.subarray(0, count), (slot) => {
    const row = column?.row[slot] ?? -1
    return row < 0 ? 0 : (column?.vectors[row * dim] ?? 0)
  })
}

function titleOf(record: Uint8Array): string {
  return (JSON.parse(Buffer.from(record).toString('utf8')) as { title: string }).title
}
