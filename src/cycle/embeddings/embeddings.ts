/**
 * Embeddings for the models that score: one cache of vectors per encoder, which models with the same encoder share. The
 * texts of entering posts are encoded within a cycle's budget, those of the whole pool before a model may serve.
 */
import { inBackground, type Log } from '../../base/index.js'
import type { ImageEncoder, Model, TextEncoder } from '../../model/index.js'
import type { CyclePlan, PoolState } from '../../pool/index.js'
import type { ImageKey, Store } from '../../store/index.js'
import { ImageCache } from './image-cache.js'
import { Quarantine } from './quarantine.js'
import { TextCache, type EnteringTexts } from './text-cache.js'

export interface EmbeddingsParts {
  readonly store: Store
  /** Shared by the texts of the posts that enter with one cycle. */
  readonly textEncodeMsMax: number
  readonly log: Log
}

/** What waits to be encoded, and what is never encoded because the encoder fails on it. */
export interface EmbeddingBacklog {
  readonly texts: number
  readonly images: number
  readonly quarantined: number
}

/** The inputs of a model that come from texts and images, by slot. */
export type EmbeddingInputs = Pick<
  Parameters<Model['predict']>[0],
  'text' | 'image' | 'textEncoded' | 'imagesEncoded'
> & {
  /** 1 for a text that the encoder cannot encode. */
  readonly textUnencodable: Uint8Array
}

/** About 30 MB of names. */
const imagesWaitingMax = 100_000

export class Embeddings {
  readonly #parts: EmbeddingsParts
  readonly #texts = new SharedCaches<TextCache, TextEncoder>()
  readonly #images = new SharedCaches<ImageCache, ImageEncoder>()
  /** Shared by all encoders, past and present. */
  readonly #quarantine = new Quarantine()
  /** Caches that the background completes. */
  readonly #completing = new Set<TextCache>()

  constructor(parts: EmbeddingsParts) {
    this.#parts = parts
  }

  /** Creates the caches of a model, or shares those of another one; `removeModel` undoes it. */
  addModel({ text, image }: Model): void {
    const { store, log } = this.#parts
    const parts = { quarantine: this.#quarantine, log }
    if (text !== null) this.#texts.add(text, () => new TextCache(text, store, parts))
    if (image !== null) this.#images.add(image, () => new ImageCache(image, store, parts, imagesWaitingMax))
  }

  removeModel({ text, image }: Model): void {
    if (text !== null) this.#texts.remove(text)
    const cache = image === null ? undefined : this.#images.remove(image)
    if (cache !== undefined) inBackground('image encoding', cache.close())
  }

  /** Makes the vectors of all pending posts that a model lacks. Stops when `ended` returns true. */
  async complete(model: Model, state: () => PoolState, ended: () => boolean): Promise<void> {
    await this.completeTexts(model, state, ended)
    await this.#images.get(model.image)?.complete(state, ended)
  }

  /** `complete` without images: nothing waits for those. */
  async completeTexts(model: Model, state: () => PoolState, ended: () => boolean): Promise<void> {
    await this.#texts.get(model.text)?.complete(state, ended)
  }

  /** Encodes, in the background, the texts that a model lacks: those that a cycle had no time for, or that it skipped. */
  completeLater(model: Model, { state, ended }: { state: () => PoolState; ended: () => boolean }): void {
    const cache = this.#texts.get(model.text)
    if (cache === undefined || this.#completing.has(cache)) return
    this.#completing.add(cache)
    const isOver = (): boolean => ended() || this.#parts.store.closed || this.#texts.get(model.text) !== cache
    inBackground('text encoding', this.#completeInBackground(cache, model, { state, ended: isOver }))
  }

  async #completeInBackground(
    cache: TextCache,
    model: Model,
    { state, ended }: { state: () => PoolState; ended: () => boolean },
  ): Promise<void> {
    try {
      await cache.complete(state, ended)
    } catch (error) {
      if (ended()) return
      const fields = { err: error, model_version: model.version }
      this.#parts.log.warn(fields, 'texts could not be encoded')
    } finally {
      this.#completing.delete(cache)
    }
  }

  /** Encodes the texts of the posts that enter with a plan, from their raw JSON; null when none needs it. */
  async encodeEntering(
    model: Model,
    { position }: CyclePlan,
    records: readonly Uint8Array[],
  ): Promise<EnteringTexts | null> {
    const cache = this.#texts.get(model.text)
    if (cache === undefined || model.text === null) return null
    return cache.encodeEntering(model.text, position, records, this.#parts.textEncodeMsMax)
  }

  /** The inputs by slot of `state`. `imagesStored`: stored images of each post. */
  inputs(model: Model, state: PoolState, imagesStored: Uint32Array): EmbeddingInputs {
    const texts = this.#texts.get(model.text)
    const text = texts?.column(state) ?? null
    const images = this.#images.get(model.image)?.columns(state, imagesStored)
    return {
      text,
      image: images?.column ?? null,
      textEncoded:
        text === null ? new Uint8Array(state.count) : Uint8Array.from(text.row, (row) => (row < 0 ? 0 : 1)),
      textUnencodable: texts?.unencodable(state) ?? new Uint8Array(state.count),
      imagesEncoded: images?.encoded ?? new Uint32Array(state.count),
    }
  }

  /** Positions of the images of a post that `inputs` counts as encoded. */
  encodedImages({ image }: Model, gallId: string, postNo: number): readonly number[] {
    return this.#images.get(image)?.encodedPositions(gallId, postNo) ?? []
  }

  /** Listener of the event "cycle stored". `state`: the pool after the cycle. */
  cycleStored(state: PoolState): void {
    for (const cache of this.#texts.all()) cache.sweep(state)
    for (const cache of this.#images.all()) cache.cycleStored(state)
  }

  /** Forgets all vectors, because any record of the store may have changed: other posts may have entered at a position. */
  clear(): void {
    for (const cache of this.#texts.all()) cache.clear()
    for (const cache of this.#images.all()) cache.clear()
  }

  /** Reads vectors of texts, and makes the missing ones as far as possible, when the store has read what another process wrote. */
  async followed(state: () => PoolState, ended: () => boolean): Promise<void> {
    for (const cache of this.#images.all()) cache.sweep(state())
    for (const cache of this.#texts.all()) {
      cache.sweep(state())
      await cache.complete(state, ended)
    }
  }

  /** Reads the vectors of the pending posts' images, and makes the missing ones, in the background. */
  completeImages(state: () => PoolState): void {
    for (const cache of this.#images.all())
      inBackground(
        'image encoding',
        cache.complete(state, () => this.#parts.store.closed),
      )
  }

  get backlog(): EmbeddingBacklog {
    const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0)
    return {
      texts: sum(this.#texts.all().map((cache) => cache.inProgressCount)),
      images: sum(this.#images.all().map((cache) => cache.queuedCount)),
      quarantined: this.#quarantine.count,
    }
  }

  imageStored(key: ImageKey): void {
    for (const cache of this.#images.all()) cache.add(key)
  }

  imageRemoved(key: ImageKey): void {
    for (const cache of this.#images.all()) cache.remove(key)
  }
}

/**
 * Caches by the hash of their encoder. Each model has its own encoder processes: those of the newest model that shares
 * a cache do the work.
 */
class SharedCaches<Cache extends { encoder: Encoder }, Encoder extends { readonly hash: string }> {
  readonly #shared = new Map<string, { readonly cache: Cache; readonly encoders: Encoder[] }>()

  all(): Cache[] {
    return [...this.#shared.values()].map(({ cache }) => cache)
  }

  get(encoder: Encoder | null): Cache | undefined {
    return encoder === null ? undefined : this.#shared.get(encoder.hash)?.cache
  }

  add(encoder: Encoder, create: () => Cache): void {
    const shared = this.#shared.get(encoder.hash) ?? { cache: create(), encoders: [] }
    this.#shared.set(encoder.hash, shared)
    shared.encoders.push(encoder)
    shared.cache.encoder = encoder
  }

  /** Returns the cache when no model uses it. */
  remove(encoder: Encoder): Cache | undefined {
    const shared = this.#shared.get(encoder.hash)
    const index = shared?.encoders.indexOf(encoder) ?? -1
    if (shared === undefined || index < 0) return undefined
    shared.encoders.splice(index, 1)
    const newest = shared.encoders.at(-1)
    if (newest !== undefined) {
      shared.cache.encoder = newest
      return undefined
    }
    this.#shared.delete(encoder.hash)
    return shared.cache
  }
}
