/**
 * Vectors of posts' images for one encoder: each picture is encoded once, in the background, and kept in the store by
 * its hash; a post's vector is pooled over its encoded images in the order of their positions.
 */
import {
  ModelDownError,
  ModelError,
  poolVectors,
  type EmbeddingColumn,
  type ImageEncoder,
} from '../../model/index.js'
import type { PoolState } from '../../pool/index.js'
import { StoreError, type Embedding, type ImageKey, type Store } from '../../store/index.js'
import { nextTurn } from '../next-turn.js'
import type { Poison } from './poison.js'
import { VectorArena } from './vector-arena.js'

/** Pictures that the encoder gets at a time. */
const batchCount = 8
/** Posts that are looked up between two turns of the event loop. */
const postsPerTurn = 100
/** Below so many posts nothing is worth forgetting. */
const sweepCountMin = 1000
/** How often a picture is tried, since its encoder may be starting again; and the waits between. */
const triesMax = 6
const retryMsMin = 1000
const retryMsMax = 30_000

export interface ImageColumns {
  readonly column: EmbeddingColumn
  /** By slot: images of the post that are encoded. */
  readonly encoded: Uint32Array
}

export interface ImageBookParts {
  readonly poison: Poison
  readonly log: { error(fields: object, message: string): void }
}

interface Waiting {
  readonly key: ImageKey
  readonly tries: number
  /** Whether it has just arrived, or is wanted for another reason. */
  readonly hasArrived?: boolean
  /** Batches that had been encoded when it failed first. */
  readonly failedAt?: number
}

/** The disk takes no vectors, which says nothing of the pictures. Is thrown within this file only. */
class NotStored extends Error {}

interface Picture {
  readonly hash: Uint8Array
  readonly picture: Uint8Array
}

interface PostEntry {
  /** Of its vector in the arena. */
  readonly id: number
  encodedCount: number
}

export class ImageBook {
  /** Of the newest model that uses the book: an older one's processes may be gone. */
  encoder: ImageEncoder
  readonly #store: Store
  readonly #parts: ImageBookParts
  readonly #arena: VectorArena<number>
  /** gall_id → post_no → entry. */
  readonly #posts = new Map<string, Map<number, PostEntry>>()
  #postCount = 0
  #lastId = 0
  /** By the image's name, in the order of their turns. */
  readonly #queue = new Map<string, Waiting>()
  #working: Promise<void> | null = null
  /** The last use of the encoder: they take turns, so that none makes what the one before it has made. */
  #encoding: Promise<unknown> = Promise.resolve()
  /** Vectors that are made and that the disk has not taken yet, by the hash of the picture in hex: they are not made again. */
  readonly #unstored = new Map<string, Embedding>()
  #retryMs = 0
  /** Batches encoded so far. */
  #encodedCount = 0
  #wake: (() => void) | null = null
  #closed = false

  constructor(encoder: ImageEncoder, store: Store, parts: ImageBookParts) {
    this.encoder = encoder
    this.#store = store
    this.#parts = parts
    this.#arena = new VectorArena(encoder.dim)
  }

  /** What is known now, by slot; nothing is waited for. `stored`: images of each post in the store. */
  columns(state: PoolState, stored: Uint32Array): ImageColumns {
    const row = new Int32Array(state.count).fill(-1)
    const encoded = new Uint32Array(state.count)
    for (let slot = 0; slot < state.count; slot++) {
      if (stored[slot] === 0) continue
      const gallId = state.galleries[state.gallery[slot] as number] as string
      const postNo = state.postNo[slot] as number
      const entry = this.#posts.get(gallId)?.get(postNo) ?? this.#meet(gallId, postNo)
      row[slot] = this.#arena.row(entry.id)
      encoded[slot] = entry.encodedCount
    }
    return { column: { dim: this.encoder.dim, vectors: this.#arena.vectors, row }, encoded }
  }

  /** An image is durable now: it is encoded when its turn comes. */
  add(key: ImageKey): void {
    this.#enqueue({ key, tries: 0, hasArrived: true })
  }

  /** An image is gone: its post's vector is pooled anew when the post is scored next. */
  remove({ gallId, postNo }: ImageKey): void {
    const posts = this.#posts.get(gallId)
    const entry = posts?.get(postNo)
    if (posts === undefined || entry === undefined) return
    posts.delete(postNo)
    if (posts.size === 0) this.#posts.delete(gallId)
    this.#postCount--
    this.#arena.delete(entry.id)
  }

  /** An image that its post lacks, unless it waits already. */
  #want(key: ImageKey): void {
    if (!this.#queue.has(imageName(key))) this.#enqueue({ key, tries: 0 })
  }

  #enqueue(waiting: Waiting): void {
    if (this.#closed) return
    this.#queue.set(imageName(waiting.key), waiting)
    this.#working ??= this.#work().finally(() => (this.#working = null))
  }

  /** Encodes what is stored of the pending posts and not encoded yet. Stops when `ended`. */
  async complete(state: () => PoolState, ended: () => boolean): Promise<void> {
    const { galleries, gallery, postNo, count } = state()
    const posts = Array.from({ length: count }, (_, slot) => ({
      gallId: galleries[gallery[slot] as number] as string,
      postNo: postNo[slot] as number,
    }))
    const isOver = (): boolean => ended() || this.#ended
    let failed = false
    for (let from = 0; from < posts.length; from += postsPerTurn) {
      const part = posts.slice(from, from + postsPerTurn)
      await nextTurn()
      if (isOver()) return
      if (!failed) failed = await this.#tryAll(part, isOver)
      if (isOver()) return
      for (const { gallId, postNo } of part)
        for (const key of this.#pool(gallId, postNo).lacking) if (failed) this.#want(key)
    }
    this.sweep(state())
  }

  /** True when the encoder has failed: then the rest is for the background, since images are never waited for. */
  async #tryAll(
    posts: readonly { readonly gallId: string; readonly postNo: number }[],
    isOver: () => boolean,
  ): Promise<boolean> {
    const images = posts.flatMap(({ gallId, postNo }) => this.#imagesOf(gallId, postNo))
    for (let from = 0; from < images.length && !isOver(); from += batchCount) {
      try {
        await this.#encode(images.slice(from, from + batchCount))
      } catch (error) {
        if (isOver()) return true
        // The others of its batch have their vectors.
        const isUnreadable = error instanceof StoreError
        const end = isUnreadable
          ? 'an image could not be read'
          : 'images could not be encoded; they are tried again'
        this.#parts.log.error({ err: error }, end)
        if (!isUnreadable) return true
      }
    }
    return false
  }

  /** Nothing is encoded any more. */
  async close(): Promise<void> {
    this.#closed = true
    this.#queue.clear()
    this.#wake?.()
    await this.#working
  }

  /** Asked anew after every wait. */
  get #ended(): boolean {
    return this.#closed || this.#store.closed
  }

  async #work(): Promise<void> {
    while (this.#queue.size > 0 && !this.#closed) {
      const batch = this.#nextBatch()
      try {
        await this.#encode(batch.map(({ key }) => key))
        if (this.#ended) return
        for (const waiting of batch) this.#poolWith(waiting)
        this.#retryMs = 0
      } catch (error) {
        if (this.#ended) return
        this.#putBack(batch, error)
        this.#retryMs = Math.min(Math.max(2 * this.#retryMs, retryMsMin), retryMsMax)
        this.#parts.log.error(
          { err: error, image_count: batch.length, retry_ms: this.#retryMs },
          'images could not be encoded',
        )
        await this.#pause(this.#retryMs)
      }
      await nextTurn()
    }
  }

  /** What has failed once is tried alone: a picture that ends its encoder must not cost others their vectors. */
  #nextBatch(): Waiting[] {
    const batch: Waiting[] = []
    for (const [name, waiting] of this.#queue) {
      if (batch.length > 0 && (waiting.tries > 0 || this.#retryMs > 0)) break
      batch.push(waiting)
      this.#queue.delete(name)
      if (waiting.tries > 0 || batch.length === batchCount) break
    }
    return batch
  }

  /**
   * What has been tried too often counts as missing until another image of its post arrives, or the next start or swap;
   * a picture that is to blame, for good.
   */
  #putBack(batch: readonly Waiting[], error: unknown): void {
    const wasTried = !(error instanceof ModelDownError || error instanceof NotStored)
    for (const waiting of batch) {
      const { key, failedAt = this.#encodedCount } = waiting
      const tries = wasTried ? waiting.tries + 1 : waiting.tries
      if (tries < triesMax) this.#queue.set(imageName(key), { ...waiting, tries, failedAt })
      // The encoder has encoded others meanwhile, so it is not to blame.
      else if (error instanceof ModelError && failedAt < this.#encodedCount) this.#condemn(key, error)
      else if (error instanceof StoreError) this.#giveUp(key, error)
    }
  }

  /** It could not be read, alone, again and again. */
  #giveUp({ gallId, postNo, position }: ImageKey, { message }: StoreError): void {
    this.#parts.log.error(
      { gall_id: gallId, post_no: postNo, position, problem: message },
      'an image cannot be read; its post is scored without it',
    )
  }

  /** It has ended its encoder alone, again and again. */
  #condemn(key: ImageKey, { message }: ModelError): void {
    const { poison, log } = this.#parts
    const hash = this.#store.readImageHash(key)
    if (hash !== undefined) poison.condemn(poison.key(this.encoder.hash, hash))
    log.error(
      { gall_id: key.gallId, post_no: key.postNo, position: key.position, problem: message },
      'an image ends the image encoder even alone; its post is scored without it until the service starts again',
    )
  }

  #isPoison(hash: Uint8Array): boolean {
    const { poison } = this.#parts
    return !poison.isEmpty && poison.has(poison.key(this.encoder.hash, hash))
  }

  /** Waits, until the book is closed at the longest. */
  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      timer.unref()
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  /** Makes and stores the vectors that these images lack; then throws what the first that could not be read threw. */
  #encode(keys: readonly ImageKey[]): Promise<void> {
    const encoding = this.#encoding.then(() => this.#encodeLacking(keys))
    this.#encoding = encoding.catch(() => undefined)
    return encoding
  }

  async #encodeLacking(keys: readonly ImageKey[]): Promise<void> {
    if (this.#ended) return
    const { lacking, unreadable } = this.#readLacking(keys)
    const wanted = [...lacking].filter(([name]) => !this.#unstored.has(name)).map(([, picture]) => picture)
    if (wanted.length > 0) await this.#make(wanted)
    const made = [...lacking.keys()].flatMap((name) => this.#unstored.get(name) ?? [])
    if (made.length > 0 && !this.#store.closed) await this.#keep(made)
    if (unreadable !== null) throw unreadable
  }

  /** Pictures without a vector, by their hash in hex. */
  #readLacking(keys: readonly ImageKey[]): { lacking: Map<string, Picture>; unreadable: StoreError | null } {
    const lacking = new Map<string, Picture>()
    let unreadable: StoreError | null = null
    for (const key of keys) {
      try {
        const found = this.#readPicture(key)
        if (found !== null) lacking.set(hex(found.hash), found)
      } catch (error) {
        if (!(error instanceof StoreError)) throw error
        unreadable ??= error
      }
    }
    return { lacking, unreadable }
  }

  /** Null where there is none, it has its vector, or it is poison. */
  #readPicture(key: ImageKey): Picture | null {
    const hash = this.#store.readImageHash(key)
    if (hash === undefined || this.#isPoison(hash)) return null
    if (this.#store.models.readEmbedding(this.encoder.hash, hash) !== undefined) return null
    const image = this.#store.findImage(key)
    return image === undefined ? null : { hash, picture: image.normalised }
  }

  async #keep(made: readonly Embedding[]): Promise<void> {
    try {
      await this.#store.models.putEmbeddings(this.encoder.hash, made)
    } catch (error) {
      throw new NotStored(`their vectors could not be stored: ${String(error)}`, { cause: error })
    }
    for (const { key } of made) this.#unstored.delete(hex(key))
  }

  async #make(wanted: readonly Picture[]): Promise<void> {
    const { dim } = this.encoder
    const { vectors, encoded } = await this.encoder.encode(wanted.map(({ picture }) => picture))
    this.#encodedCount++
    for (const [row, { hash }] of wanted.entries())
      if (encoded[row] === 1)
        this.#unstored.set(hex(hash), { key: hash, vector: vectors.slice(row * dim, (row + 1) * dim) })
  }

  /** A post with images that came before it, or when it was pending once before. */
  #meet(gallId: string, postNo: number): PostEntry {
    const entry = this.#pool(gallId, postNo)
    for (const key of entry.lacking) this.#want(key)
    return entry
  }

  /** Pools the vectors of the post of an image that was encoded; one that arrives brings back what its post lacks. */
  #poolWith({ key: { gallId, postNo, position }, hasArrived = false }: Waiting): void {
    const { lacking } = this.#pool(gallId, postNo)
    if (!hasArrived) return
    for (const key of lacking) if (key.position !== position) this.#want(key)
  }

  /** Pools a post's vectors anew. */
  #pool(gallId: string, postNo: number): PostEntry & { readonly lacking: readonly ImageKey[] } {
    const lacking: ImageKey[] = []
    const vectors = this.#imagesOf(gallId, postNo).flatMap((key) => {
      const vector = this.#readVector(key)
      if (vector?.length === this.encoder.dim) return [vector]
      lacking.push(key)
      return []
    })
    const posts = this.#posts.get(gallId) ?? new Map<number, PostEntry>()
    this.#posts.set(gallId, posts)
    const known = posts.get(postNo)
    if (known === undefined) this.#postCount++
    const entry = known ?? { id: ++this.#lastId, encodedCount: 0 }
    posts.set(postNo, entry)
    entry.encodedCount = vectors.length
    if (vectors.length > 0) this.#arena.set(entry.id, poolVectors(vectors, this.encoder.pooling))
    else this.#arena.delete(entry.id)
    return { ...entry, lacking }
  }

  /** Undefined for a damaged one too: its post is scored without it. */
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

  /** Forgets posts that are not pending, when they have become many. What is stored of them stays. */
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
    this.#arena.retain(kept)
  }
}

function imageName({ gallId, postNo, position }: ImageKey): string {
  return JSON.stringify([gallId, postNo, position])
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}
