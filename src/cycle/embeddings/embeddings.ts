/**
 * Embeddings for the models that score: books of vectors by encoder, shared by models with the same one; vectors of
 * entering posts within a cycle's time; those of the whole pool before a model may serve.
 */
import type { ImageEncoder, Model, TextEncoder } from '../../model/index.js'
import type { CyclePlan, PoolState } from '../../pool/index.js'
import type { EncodedTexts, ImageKey, Store } from '../../store/index.js'
import { ImageBook, type ImageColumns } from './image-book.js'
import { Poison } from './poison.js'
import { TextBook, type EnteringTexts } from './text-book.js'

export interface EmbeddingsParts {
  readonly store: Store
  /** Within one cycle, for texts of the posts that enter. */
  readonly textEncodeMsMax: number
  readonly log: { error(fields: object, message: string): void }
}

/** What a model reads of texts and pictures beside the columns of the pool. */
export type EmbeddingInputs = Pick<
  Parameters<Model['predict']>[0],
  'text' | 'image' | 'textEncoded' | 'imagesEncoded'
>

/** A book, and the encoders of the models that use it: each has processes of its own, the newest does the work. */
interface Shared<Book extends { encoder: Encoder }, Encoder> {
  readonly book: Book
  readonly encoders: Encoder[]
}

export class Embeddings {
  readonly #parts: EmbeddingsParts
  readonly #texts = new Map<string, Shared<TextBook, TextEncoder>>()
  readonly #images = new Map<string, Shared<ImageBook, ImageEncoder>>()
  /** Of all encoders, past and present. */
  readonly #poison = new Poison()

  constructor(parts: EmbeddingsParts) {
    this.#parts = parts
  }

  /** Makes room for a model's vectors; `leave` gives it up. */
  enter({ text, image }: Model): void {
    const { store, log } = this.#parts
    const parts = { poison: this.#poison, log }
    if (text !== null) use(this.#texts, text, () => new TextBook(text, store, parts))
    if (image !== null) use(this.#images, image, () => new ImageBook(image, store, parts))
  }

  leave({ text, image }: Model): void {
    if (text !== null) release(this.#texts, text)
    if (image !== null) void release(this.#images, image)?.close()
  }

  /** Makes the vectors of all pending posts that a model lacks. Stops when `ended`. */
  async complete(model: Model, state: () => PoolState, ended: () => boolean): Promise<void> {
    await this.completeTexts(model, state, ended)
    await this.#imageBook(model)?.complete(state, ended)
  }

  /** As `complete`, without images: those are never waited for. */
  async completeTexts(model: Model, state: () => PoolState, ended: () => boolean): Promise<void> {
    await this.#textBook(model)?.complete(state, ended)
  }

  /** Makes vectors of the texts that enter with a plan, from their raw JSON; null where there is nothing to make. */
  async encodeEntering(
    model: Model,
    { position }: CyclePlan,
    records: readonly Uint8Array[],
  ): Promise<EnteringTexts | null> {
    const book = this.#textBook(model)
    if (book === undefined || model.text === null) return null
    return book.encode(model.text, position, records, this.#parts.textEncodeMsMax)
  }

  /** By slot of `state`. `imagesStored`: images of each post in the store. */
  inputs(model: Model, state: PoolState, imagesStored: Uint32Array): EmbeddingInputs {
    const text = this.#textBook(model)?.column(state) ?? null
    const images: ImageColumns | null = this.#imageBook(model)?.columns(state, imagesStored) ?? null
    return {
      text,
      image: images?.column ?? null,
      textEncoded:
        text === null
          ? new Uint8Array(zeros(state.count).buffer, 0, state.count)
          : Uint8Array.from(text.row, (row) => (row < 0 ? 0 : 1)),
      imagesEncoded: images?.encoded ?? zeros(state.count),
    }
  }

  /** What goes into the store with the cycle; null without a text encoder. */
  records(model: Model, entering: EnteringTexts | null): EncodedTexts | null {
    if (entering === null || model.text === null) return null
    const entries = this.#textBook(model)?.records(entering) ?? []
    return entries.length === 0 ? null : { encoder: model.text.hash, entries }
  }

  /** The cycle was not stored: what entered with it did not enter. */
  forgetEntering(model: Model, entering: EnteringTexts | null): void {
    if (entering !== null) this.#textBook(model)?.forget(entering)
  }

  /** The cycle is stored, `state` is the pool now. */
  cycleStored(state: PoolState): void {
    for (const { book } of this.#texts.values()) book.sweep(state)
    for (const { book } of this.#images.values()) book.sweep(state)
  }

  imageStored(key: ImageKey): void {
    for (const { book } of this.#images.values()) book.add(key)
  }

  imageRemoved(key: ImageKey): void {
    for (const { book } of this.#images.values()) book.remove(key)
  }

  #textBook({ text }: Model): TextBook | undefined {
    return text === null ? undefined : this.#texts.get(text.hash)?.book
  }

  #imageBook({ image }: Model): ImageBook | undefined {
    return image === null ? undefined : this.#images.get(image.hash)?.book
  }
}

type Books<Book extends { encoder: Encoder }, Encoder> = Map<string, Shared<Book, Encoder>>

function use<Book extends { encoder: Encoder }, Encoder extends { readonly hash: string }>(
  books: Books<Book, Encoder>,
  encoder: Encoder,
  make: () => Book,
): void {
  const shared = books.get(encoder.hash) ?? { book: make(), encoders: [] }
  books.set(encoder.hash, shared)
  shared.encoders.push(encoder)
  shared.book.encoder = encoder
}

/** The book, where nobody uses it any more. */
function release<Book extends { encoder: Encoder }, Encoder extends { readonly hash: string }>(
  books: Books<Book, Encoder>,
  encoder: Encoder,
): Book | undefined {
  const shared = books.get(encoder.hash)
  const place = shared?.encoders.indexOf(encoder) ?? -1
  if (shared === undefined || place < 0) return undefined
  shared.encoders.splice(place, 1)
  const newest = shared.encoders.at(-1)
  if (newest !== undefined) {
    shared.book.encoder = newest
    return undefined
  }
  books.delete(encoder.hash)
  return shared.book
}

let zeroWords = new Uint32Array(0)

/** So many zeros, never written to: a model without encoders asks for them in every cycle. */
function zeros(count: number): Uint32Array {
  if (zeroWords.length < count) zeroWords = new Uint32Array(2 * count)
  return zeroWords.subarray(0, count)
}
