/**
 * Encodes stored images for one encoder, in the background: a batch at a time, each distinct image once. Vectors are stored by
 * the hash of the image. After a failure the images wait for the next image or cycle that is stored.
 */
import { inBackground, nextTurn, toError } from '../../base/index.js'
import type { ImageEncoder } from '../../model/index.js'
import type { ImageKey, Store } from '../../store/index.js'
import { imageBatchEncoder } from './batch-encoder.js'
import type { CacheParts } from './text-cache.js'

/** Images per call of the encoder. The queue has names alone: only those of a batch are in memory. */
const batchSize = 8

interface ImageContent {
  readonly key: ImageKey
  readonly hash: Uint8Array
  readonly bytes: Uint8Array
}

export class ImageQueue {
  /** The encoder of the newest model that uses the queue: the processes of an older one may have ended. */
  encoder: ImageEncoder
  readonly #store: Store
  readonly #parts: CacheParts
  readonly #onEncoded: (post: Omit<ImageKey, 'position'>) => void
  readonly #waitingMax: number
  /** Images that wait by name, in order of arrival. */
  readonly #queue = new Map<string, ImageKey>()
  #leftOut = false
  #isWorking = false
  #working: Promise<void> = Promise.resolve()
  #batch: Promise<unknown> = Promise.resolve()
  #closed = false

  /**
   * `onEncoded` is called for each post of which images have been tried, with or without vectors. `waitingMax`: images that may
   * wait. Those beyond are found again in the store: see `mustSearch`.
   */
  constructor(
    encoder: ImageEncoder,
    store: Store,
    parts: CacheParts,
    onEncoded: (post: Omit<ImageKey, 'position'>) => void,
    waitingMax: number,
  ) {
    this.encoder = encoder
    this.#store = store
    this.#parts = parts
    this.#onEncoded = onEncoded
    this.#waitingMax = waitingMax
  }

  /** Images that wait, without those of the batch in progress. */
  get count(): number {
    return this.#queue.size
  }

  isClosed(): boolean {
    return this.#closed || this.#store.closed
  }

  add(key: ImageKey): void {
    // A standby receives the vectors from the owner.
    if (this.#closed || !this.#store.mayWrite) return
    const name = imageName(key)
    if (this.#queue.has(name) || this.#queue.size < this.#waitingMax) this.#queue.set(name, key)
    else this.#leftOut = true
    this.resume()
  }

  /** True once when images were left out and half of the queue is free again: they must be added again. */
  mustSearch(): boolean {
    if (!this.#leftOut || this.#queue.size > this.#waitingMax / 2) return false
    this.#leftOut = false
    return true
  }

  /** Continues after a failure. */
  resume(): void {
    if (this.#isWorking) return
    this.#isWorking = true
    this.#working = this.#work()
    inBackground('image encoding', this.#working)
  }

  /** Resolves when each image that is queued now has been tried, after a failure, or when `ended` returns true. */
  async settled(ended: () => boolean): Promise<void> {
    const last = [...this.#queue.keys()].at(-1)
    while (last !== undefined && this.#queue.has(last) && this.#isWorking && !ended()) {
      await this.#batch
      await nextTurn()
    }
    if (!ended()) await this.#batch
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#queue.clear()
    await Promise.allSettled([this.#working])
  }

  async #work(): Promise<void> {
    try {
      await this.#encodeQueued()
    } finally {
      this.#isWorking = false
    }
  }

  async #encodeQueued(): Promise<void> {
    // One iterator for all batches: a new one would step over every entry that was deleted before. It never reaches the
    // end, so it sees the images that are added meanwhile.
    const waiting = this.#queue.entries()
    while (this.#queue.size > 0 && !this.isClosed() && this.#store.mayWrite) {
      const count = Math.min(batchSize, this.#queue.size)
      const batch = Array.from({ length: count }, () => waiting.next().value!)
      for (const [name] of batch) this.#queue.delete(name)
      const keys = batch.map(([, key]) => key)
      const encoding = this.#encode(keys)
      this.#batch = encoding.catch(() => undefined)
      try {
        await encoding
      } catch (error) {
        if (this.isClosed()) return
        for (const [name, key] of batch) this.#queue.set(name, key)
        this.#parts.log.error({ err: error, image_count: keys.length }, 'images could not be encoded')
        return
      }
      // One by one: a post whose records are damaged must not keep the vectors from the others.
      const posts = new Map(keys.map((key) => [JSON.stringify([key.gallId, key.postNo]), key]))
      if (!this.isClosed())
        for (const post of posts.values()) inBackground('image encoding', () => this.#onEncoded(post))
      await nextTurn()
    }
  }

  /** Encodes and stores the vectors that these images lack. Rejects when the encoder fails or the store refuses them. */
  async #encode(keys: readonly ImageKey[]): Promise<void> {
    const images = [...new Map(keys.flatMap((key) => this.#imageWithoutVector(key))).values()]
    if (images.length === 0) return
    const { hash: encoder, dim } = this.encoder
    const { vectors, encoded } = await this.#parts.quarantine.encodeAll(
      imageBatchEncoder(this.encoder),
      images.map(({ bytes }) => bytes),
      {
        ended: () => this.isClosed(),
        onQuarantined: (row, error) => this.#logSkipped(images[row]!.key, error, quarantinedMessage),
      },
    )
    const made = images.flatMap(({ hash }, row) =>
      encoded[row] === 1 ? [{ key: hash, vector: vectors.slice(row * dim, (row + 1) * dim) }] : [],
    )
    if (made.length > 0 && !this.#store.closed) await this.#store.models.putEmbeddings(encoder, made)
  }

  /** The image and its hash in hex, as an entry of a map; empty when it has a vector or cannot be read. */
  #imageWithoutVector(key: ImageKey): [string, ImageContent][] {
    try {
      const hash = this.#store.readImageHash(key)
      if (hash === undefined || this.#store.models.readEmbedding(this.encoder.hash, hash) !== undefined)
        return []
      const image = this.#store.findImage(key)
      return image === undefined
        ? []
        : [[Buffer.from(hash).toString('hex'), { key, hash, bytes: image.normalised }]]
    } catch (error) {
      if (this.#store.closed) throw error
      const problem = toError(error)
      this.#logSkipped(key, problem, 'an image cannot be read; its post is scored without it')
      return []
    }
  }

  #logSkipped({ gallId, postNo, position }: ImageKey, { message }: Error, what: string): void {
    this.#parts.log.error({ gall_id: gallId, post_no: postNo, position, problem: message }, what)
  }
}

const quarantinedMessage =
  'image quarantined: the image encoder fails on it; its post is scored without it until the service restarts'

function imageName({ gallId, postNo, position }: ImageKey): string {
  return JSON.stringify([gallId, postNo, position])
}
