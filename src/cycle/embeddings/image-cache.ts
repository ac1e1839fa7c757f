/**
 * Vectors of posts' images for one encoder. A post's vector is pooled over its encoded images in the order of their
 * positions. Nothing waits for an image: the queue encodes it in the background.
 */
import { inBackground, nextTurn } from '../../base/index.js'
import { assert } from '../../contract/index.js'
import { poolVectors, type EmbeddingColumn, type ImageEncoder } from '../../model/index.js'
import { PostMap, type PoolState } from '../../pool/index.js'
import { StoreError, type ImageKey, type Store } from '../../store/index.js'
import { ImageQueue } from './image-queue.js'
import type { CacheParts } from './text-cache.js'
import { VectorTable } from './vectors.js'

/** Posts that are looked up between two turns of the event loop. */
const postsPerTurn = 100
/** Fewer posts are not swept. */
const sweepCountMin = 1000

export interface ImageColumns {
  readonly column: EmbeddingColumn
  /** Encoded images of the post, by slot. */
  readonly encoded: Uint32Array
}

interface EncodedPost {
  /** The key of the post's vector. */
  readonly id: number
  /** Positions of the encoded images, ascending. */
  readonly positions: readonly number[]
}

export class ImageCache {
  readonly #store: Store
  readonly #queue: ImageQueue
  readonly #vectors: VectorTable<number>
  #posts = new PostMap<string, EncodedPost>()
  #postCount = 0
  #lastId = 0

  /** `waitingMax`: images that may wait to be encoded. The others are found again in the store. */
  constructor(encoder: ImageEncoder, store: Store, parts: CacheParts, waitingMax: number) {
    this.#store = store
    const onEncoded = ({ gallId, postNo }: Omit<ImageKey, 'position'>): void => {
      this.#pool(gallId, postNo)
    }
    this.#queue = new ImageQueue(encoder, store, parts, onEncoded, waitingMax)
    this.#vectors = new VectorTable(encoder.dim)
  }

  /** The encoder of the newest model that uses the cache: the processes of an older one may have ended. */
  get encoder(): ImageEncoder {
    return this.#queue.encoder
  }

  set encoder(encoder: ImageEncoder) {
    this.#queue.encoder = encoder
  }

  /** Images that wait to be encoded. */
  get queuedCount(): number {
    return this.#queue.count
  }

  /** The vectors that are available now, by slot. `stored`: stored images of each post. */
  columns(state: PoolState, stored: Uint32Array): ImageColumns {
    const row = new Int32Array(state.count).fill(-1)
    const encoded = new Uint32Array(state.count)
    for (let slot = 0; slot < state.count; slot++) {
      if (stored[slot] === 0) continue
      const gallId = state.galleries[state.gallery[slot]!]!
      const postNo = state.postNo[slot]!
      // A post of which images arrived before it, or that was pending before, has no entry.
      const entry = this.#posts.get(gallId, postNo) ?? this.#poolAndQueue(gallId, postNo)
      row[slot] = this.#vectors.row(entry.id)
      encoded[slot] = entry.positions.length
    }
    return { column: { dim: this.encoder.dim, vectors: this.#vectors.vectors, row }, encoded }
  }

  /** Positions of the images of a post whose vectors `columns` has pooled. */
  encodedPositions(gallId: string, postNo: number): readonly number[] {
    return this.#posts.get(gallId, postNo)?.positions ?? []
  }

  /** Queues an uploaded image, once it is durable, and the other images that its post lacks. */
  add({ gallId, postNo }: ImageKey): void {
    this.#poolAndQueue(gallId, postNo)
  }

  /** Forgets the post of an image that has been removed. Its vector is pooled again when it is scored next. */
  remove({ gallId, postNo }: ImageKey): void {
    const entry = this.#posts.get(gallId, postNo)
    if (entry === undefined) return
    this.#posts.delete(gallId, postNo)
    this.#postCount--
    assert(this.#postCount >= 0, 'each post is counted once')
    this.#vectors.delete(entry.id)
  }

  /**
   * Encodes the images of the pending posts that have no vector. After a failure the rest stays in the queue, because
   * nothing waits for images. Stops when `ended` returns true.
   */
  async complete(state: () => PoolState, ended: () => boolean): Promise<void> {
    // Posts that enter meanwhile are queued when they are scored; those that leave are encoded in vain.
    const { galleries, gallery, postNo, count } = state()
    const isOver = (): boolean => ended() || this.#queue.isClosed()
    for (let slot = 0; slot < count; slot++) {
      if (slot % postsPerTurn === 0) await nextTurn()
      if (isOver()) return
      this.#poolAndQueue(galleries[gallery[slot]!]!, postNo[slot]!)
    }
    await this.#queue.settled(isOver)
    if (!isOver()) this.sweep(state())
  }

  /** Forgets all posts; each is pooled again when it is scored next. */
  clear(): void {
    this.#posts = new PostMap()
    this.#postCount = 0
    this.#vectors.retain(new Set())
  }

  /** Continues and sweeps when a cycle is stored. `state`: the pool after it. */
  cycleStored(state: PoolState): void {
    this.#queue.resume()
    this.sweep(state)
    if (!this.#queue.mustSearch()) return
    // A post of which an image was left out before it was pending is pooled, and its images queued, when it enters.
    this.#retain(state)
    const search = this.complete(
      () => state,
      () => false,
    )
    inBackground('image encoding', search)
  }

  /** Removes posts that are no longer pending, once they are the majority. Their stored vectors stay. */
  sweep(state: PoolState): void {
    if (this.#postCount >= Math.max(sweepCountMin, 2 * state.count)) this.#retain(state)
  }

  #retain({ galleries, gallery, postNo, count }: PoolState): void {
    const pending = new PostMap<string, EncodedPost>()
    const ids = new Set<number>()
    for (let slot = 0; slot < count; slot++) {
      const gallId = galleries[gallery[slot]!]!
      const entry = this.#posts.get(gallId, postNo[slot]!)
      if (entry === undefined) continue
      pending.set(gallId, postNo[slot]!, entry)
      ids.add(entry.id)
    }
    this.#posts = pending
    this.#postCount = ids.size
    this.#vectors.retain(ids)
  }

  /** Stops encoding. */
  close(): Promise<void> {
    return this.#queue.close()
  }

  #poolAndQueue(gallId: string, postNo: number): EncodedPost {
    const { entry, missing } = this.#pool(gallId, postNo)
    for (const key of missing) this.#queue.add(key)
    return entry
  }

  /** Pools the vector of a post again. `missing`: its images without a vector. */
  #pool(
    gallId: string,
    postNo: number,
  ): { readonly entry: EncodedPost; readonly missing: readonly ImageKey[] } {
    const missing: ImageKey[] = []
    const positions: number[] = []
    const vectors: Float32Array[] = []
    for (const position of this.#store.imagePositions(gallId, postNo)) {
      const key = { gallId, postNo, position }
      const vector = this.#readVector(key)
      if (vector?.length === this.encoder.dim) {
        positions.push(position)
        vectors.push(vector)
      } else missing.push(key)
    }
    const known = this.#posts.get(gallId, postNo)
    if (known === undefined) this.#postCount++
    const entry = { id: known?.id ?? ++this.#lastId, positions }
    this.#posts.set(gallId, postNo, entry)
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
}
