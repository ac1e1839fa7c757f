/**
 * Vectors of posts' images for one encoder. A post's vector is pooled over its encoded images in the order of their
 * positions. Nothing waits for an image: the queue encodes it in the background.
 */
import { poolVectors, type EmbeddingColumn, type ImageEncoder } from '../../model/index.js'
import type { PoolState } from '../../pool/index.js'
import { StoreError, type ImageKey, type Store } from '../../store/index.js'
import { nextTurn } from '../next-turn.js'
import { batchSize, ImageQueue, type QueuedImage } from './image-queue.js'
import type { CacheParts } from './text-cache.js'
import { VectorTable } from './vectors.js'

/** Posts that are looked up between two turns of the event loop. */
const postsPerTurn = 100
/** With fewer posts than this, nothing is swept. */
const sweepCountMin = 1000

export interface ImageColumns {
  readonly column: EmbeddingColumn
  /** By slot: encoded images of the post. */
  readonly encoded: Uint32Array
}

interface PostEntry {
  /** The key of the post's vector. */
  readonly id: number
  encodedCount: number
}

export class ImageCache {
  readonly #store: Store
  readonly #log: CacheParts['log']
  readonly #queue: ImageQueue
  readonly #vectors: VectorTable<number>
  /** gall_id → post_no → entry. */
  readonly #posts = new Map<string, Map<number, PostEntry>>()
  #postCount = 0
  #lastId = 0

  constructor(encoder: ImageEncoder, store: Store, parts: CacheParts) {
    this.#store = store
    this.#log = parts.log
    this.#queue = new ImageQueue(encoder, store, parts, (image) => this.#imageEncoded(image))
    this.#vectors = new VectorTable(encoder.dim)
  }

  /** The encoder of the newest model that uses the cache: the processes of an older one may be gone. */
  get encoder(): ImageEncoder {
    return this.#queue.encoder
  }

  set encoder(encoder: ImageEncoder) {
    this.#queue.encoder = encoder
  }

  /** The vectors that are available now, by slot. `stored`: stored images of each post. */
  columns(state: PoolState, stored: Uint32Array): ImageColumns {
    const row = new Int32Array(state.count).fill(-1)
    const encoded = new Uint32Array(state.count)
    for (let slot = 0; slot < state.count; slot++) {
      if (stored[slot] === 0) continue
      const gallId = state.galleries[state.gallery[slot] as number] as string
      const postNo = state.postNo[slot] as number
      const entry = this.#posts.get(gallId)?.get(postNo) ?? this.#addPost(gallId, postNo)
      row[slot] = this.#vectors.row(entry.id)
      encoded[slot] = entry.encodedCount
    }
    return { column: { dim: this.encoder.dim, vectors: this.#vectors.vectors, row }, encoded }
  }

  /** To be called when an uploaded image is durable. */
  add(key: ImageKey): void {
    this.#queue.addUpload(key)
  }

  /** To be called when an image has been removed. The vector of its post is pooled again when the post is scored next. */
  remove({ gallId, postNo }: ImageKey): void {
    const posts = this.#posts.get(gallId)
    const entry = posts?.get(postNo)
    if (posts === undefined || entry === undefined) return
    posts.delete(postNo)
    if (posts.size === 0) this.#posts.delete(gallId)
    this.#postCount--
    this.#vectors.delete(entry.id)
  }

  /**
   * Encodes the images of the pending posts that have no vector. After a failure the rest is left to the queue, because
   * nothing waits for images. Stops when `ended` returns true.
   */
  async complete(state: () => PoolState, ended: () => boolean): Promise<void> {
    const { galleries, gallery, postNo, count } = state()
    const posts = Array.from({ length: count }, (_, slot) => ({
      gallId: galleries[gallery[slot] as number] as string,
      postNo: postNo[slot] as number,
    }))
    const isOver = (): boolean => ended() || this.#queue.isClosed()
    let hasFailed = false
    for (let from = 0; from < posts.length; from += postsPerTurn) {
      const part = posts.slice(from, from + postsPerTurn)
      await nextTurn()
      if (isOver()) return
      const images = part.flatMap(({ gallId, postNo }) => this.#imagesOf(gallId, postNo))
      if (!hasFailed) hasFailed = !(await this.#tryEncode(images, isOver))
      if (isOver()) return
      for (const { gallId, postNo } of part)
        for (const key of this.#pool(gallId, postNo).missing) if (hasFailed) this.#queue.addMissing(key)
    }
    this.sweep(state())
  }

  /** Removes posts that are not pending any more, once they are the majority. Their stored vectors stay. */
  sweep({ galleries, gallery, postNo, count }: PoolState): void {
    if (this.#postCount < Math.max(sweepCountMin, 2 * count)) return
    const pending = new Map(galleries.map((gallId) => [gallId, new Set<number>()]))
    for (let slot = 0; slot < count; slot++)
      pending.get(galleries[gallery[slot] as number] as string)?.add(postNo[slot] as number)
    const kept = new Set<number>()
    for (const [gallId, posts] of this.#posts) {
      for (const [post, { id }] of posts) {
        if (pending.get(gallId)?.has(post) === true) kept.add(id)
        else posts.delete(post)
      }
      if (posts.size === 0) this.#posts.delete(gallId)
    }
    this.#postCount = kept.size
    this.#vectors.retain(kept)
  }

  /** Nothing is encoded any more. */
  close(): Promise<void> {
    return this.#queue.close()
  }

  /** False when the encoder has failed. */
  async #tryEncode(images: readonly ImageKey[], isOver: () => boolean): Promise<boolean> {
    for (let from = 0; from < images.length && !isOver(); from += batchSize) {
      try {
        const unreadable = await this.#queue.encode(images.slice(from, from + batchSize))
        for (const { key } of unreadable) this.#queue.addMissing(key)
      } catch (error) {
        if (!isOver())
          this.#log.error({ err: error }, 'images could not be encoded; the background tries again')
        return false
      }
    }
    return true
  }

  /** A post of which images arrived before it, or that was pending before. */
  #addPost(gallId: string, postNo: number): PostEntry {
    const { entry, missing } = this.#pool(gallId, postNo)
    for (const key of missing) this.#queue.addMissing(key)
    return entry
  }

  /** An upload also brings back the other images that its post lacks. */
  #imageEncoded({ key: { gallId, postNo, position }, isUpload }: QueuedImage): void {
    const { missing } = this.#pool(gallId, postNo)
    if (!isUpload) return
    for (const key of missing) if (key.position !== position) this.#queue.addMissing(key)
  }

  /** Pools the vector of a post again. `missing`: its images without a vector. */
  #pool(
    gallId: string,
    postNo: number,
  ): { readonly entry: PostEntry; readonly missing: readonly ImageKey[] } {
    const missing: ImageKey[] = []
    const vectors = this.#imagesOf(gallId, postNo).flatMap((key) => {
      const vector = this.#readVector(key)
      if (vector?.length === this.encoder.dim) return [vector]
      missing.push(key)
      return []
    })
    const posts = this.#posts.get(gallId) ?? new Map<number, PostEntry>()
    this.#posts.set(gallId, posts)
    const known = posts.get(postNo)
    if (known === undefined) this.#postCount++
    const entry = known ?? { id: ++this.#lastId, encodedCount: 0 }
    posts.set(postNo, entry)
    entry.encodedCount = vectors.length
    if (vectors.length > 0) this.#vectors.set(entry.id, poolVectors(vectors, this.encoder.pooling))
    else this.#vectors.delete(entry.id)
    return { entry, missing }
  }

  /** Undefined for a damaged record too: the post is scored without the image. */
  #readVector(key: ImageKey): Float32Array | undefined {
    try {
      const hash = this.#store.readImageHash(key)
      return hash && this.#store.models.readEmbedding(this.encoder.hash, hash)
    } catch (error) {
      if (error instanceof StoreError && error.code === 'unusable') return undefined
      throw error
    }
  }

  #imagesOf(gallId: string, postNo: number): ImageKey[] {
    return this.#store.imagePositions(gallId, postNo).map((position) => ({ gallId, postNo, position }))
  }
}
