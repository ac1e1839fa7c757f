/**
 * Encodes stored images for one encoder, in the background: a batch at a time, each picture once. Vectors are stored by
 * the hash of the picture. After a failure the queue waits, with back-off, and tries again.
 */
import { ModelDownError, type ImageEncoder, type ModelError } from '../../model/index.js'
import { StoreError, type Embedding, type ImageKey, type Store } from '../../store/index.js'
import { nextTurn } from '../next-turn.js'
import { imageBatchEncoder } from './quarantine.js'
import type { CacheParts } from './text-cache.js'

/** Images per call of the encoder. */
export const batchSize = 8
/** How often an image is tried that the store cannot read. */
const readTriesMax = 6
const retryMsMin = 1000
const retryMsMax = 30_000
/** How long a process that restarts is waited for before the batch goes back to the queue. */
const restartMsMax = 60_000

export interface QueuedImage {
  readonly key: ImageKey
  /** True for an image that was just uploaded; false for one that is missing for another reason. */
  readonly isUpload: boolean
  readonly readFailureCount: number
}

/** An image that the store cannot read. */
export interface UnreadableImage {
  readonly key: ImageKey
  readonly error: StoreError
}

interface Picture {
  readonly key: ImageKey
  readonly hash: Uint8Array
  readonly bytes: Uint8Array
}

export class ImageQueue {
  /** The encoder of the newest model that uses the queue: the processes of an older one may be gone. */
  encoder: ImageEncoder
  readonly #store: Store
  readonly #parts: CacheParts
  readonly #onEncoded: (image: QueuedImage) => void
  /** By image name, in order of arrival. */
  readonly #queue = new Map<string, QueuedImage>()
  #working: Promise<void> | null = null
  /** The last use of the encoder. Uses are serial, so that none encodes what the previous one has encoded. */
  #lastEncoding: Promise<unknown> = Promise.resolve()
  /** Vectors that the store has not taken yet, by the hash of the picture: they are not computed again. */
  readonly #unstored = new Map<string, Embedding>()
  #retryMs = 0
  #endPause: (() => void) | null = null
  #closed = false

  /** `onEncoded` is called for each image of the queue that has been tried, with or without a vector. */
  constructor(
    encoder: ImageEncoder,
    store: Store,
    parts: CacheParts,
    onEncoded: (image: QueuedImage) => void,
  ) {
    this.encoder = encoder
    this.#store = store
    this.#parts = parts
    this.#onEncoded = onEncoded
  }

  isClosed(): boolean {
    return this.#closed || this.#store.closed
  }

  addUpload(key: ImageKey): void {
    this.#enqueue({ key, isUpload: true, readFailureCount: 0 })
  }

  /** Adds an image without a vector, unless it is in the queue. */
  addMissing(key: ImageKey): void {
    if (!this.#queue.has(imageName(key))) this.#enqueue({ key, isUpload: false, readFailureCount: 0 })
  }

  /**
   * Encodes and stores the vectors that these images lack. Returns the images that could not be read. Rejects when the
   * encoder fails, and when the store does not take the vectors.
   */
  encode(keys: readonly ImageKey[]): Promise<UnreadableImage[]> {
    const encoding = this.#lastEncoding.then(() => this.#encodeMissing(keys))
    this.#lastEncoding = encoding.catch(() => undefined)
    return encoding
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#queue.clear()
    this.#endPause?.()
    await this.#working
  }

  #enqueue(image: QueuedImage): void {
    if (this.#closed) return
    this.#queue.set(imageName(image.key), image)
    this.#working ??= this.#work().finally(() => (this.#working = null))
  }

  async #work(): Promise<void> {
    while (this.#queue.size > 0 && !this.#closed) {
      const batch = [...this.#queue.values()].slice(0, batchSize)
      for (const { key } of batch) this.#queue.delete(imageName(key))
      const error = await this.#encodeBatch(batch)
      if (this.isClosed()) return
      if (error === null) this.#retryMs = 0
      else {
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

  /** Returns what failed; images to be tried again are back in the queue then. */
  async #encodeBatch(batch: readonly QueuedImage[]): Promise<unknown> {
    let unreadable: readonly UnreadableImage[]
    try {
      unreadable = await this.encode(batch.map(({ key }) => key))
    } catch (error) {
      if (!this.isClosed()) for (const image of batch) this.#queue.set(imageName(image.key), image)
      return error
    }
    if (this.isClosed()) return null
    for (const image of batch) {
      const failed = unreadable.find(({ key }) => key === image.key)
      if (failed === undefined) this.#onEncoded(image)
      else this.#retryRead(image, failed.error)
    }
    const [failed] = unreadable
    return failed === undefined ? null : failed.error
  }

  #retryRead(image: QueuedImage, { message }: StoreError): void {
    const readFailureCount = image.readFailureCount + 1
    if (readFailureCount < readTriesMax) {
      this.#queue.set(imageName(image.key), { ...image, readFailureCount })
      return
    }
    const { gallId, postNo, position } = image.key
    this.#parts.log.error(
      { gall_id: gallId, post_no: postNo, position, problem: message },
      'an image cannot be read; its post is scored without it',
    )
  }

  async #encodeMissing(keys: readonly ImageKey[]): Promise<UnreadableImage[]> {
    if (this.isClosed()) return []
    const { pictures, unreadable } = this.#readMissing(keys)
    const wanted = [...pictures].filter(([name]) => !this.#unstored.has(name)).map(([, picture]) => picture)
    const isProcessDown = wanted.length > 0 && (await this.#encodePictures(wanted))
    const made = [...pictures.keys()].flatMap((name) => this.#unstored.get(name) ?? [])
    if (made.length > 0 && !this.#store.closed) {
      await this.#store.models.putEmbeddings(this.encoder.hash, made)
      for (const { key } of made) this.#unstored.delete(hex(key))
    }
    if (isProcessDown && !this.isClosed()) throw new ModelDownError('the image encoder does not come back')
    return unreadable
  }

  /** Pictures without a vector, by their hash in hex. */
  #readMissing(keys: readonly ImageKey[]): { pictures: Map<string, Picture>; unreadable: UnreadableImage[] } {
    const pictures = new Map<string, Picture>()
    const unreadable: UnreadableImage[] = []
    for (const key of keys) {
      try {
        const hash = this.#store.readImageHash(key)
        if (hash === undefined) continue
        if (this.#store.models.readEmbedding(this.encoder.hash, hash) !== undefined) continue
        const image = this.#store.findImage(key)
        if (image !== undefined) pictures.set(hex(hash), { key, hash, bytes: image.normalised })
      } catch (error) {
        if (!(error instanceof StoreError)) throw error
        unreadable.push({ key, error })
      }
    }
    return { pictures, unreadable }
  }

  /** Puts the vectors into `#unstored`. Returns true when the process is down and some pictures were not tried. */
  async #encodePictures(pictures: readonly Picture[]): Promise<boolean> {
    const { dim } = this.encoder
    const { vectors, encoded, isProcessDown } = await this.#parts.quarantine.encode(
      imageBatchEncoder(this.encoder),
      pictures.map(({ bytes }) => bytes),
      {
        budgetMs: Infinity,
        background: { restartMsMax, ended: () => this.isClosed() },
        onQuarantined: (row, error) => this.#logQuarantined((pictures[row] as Picture).key, error),
      },
    )
    for (const [row, { hash }] of pictures.entries())
      if (encoded[row] === 1)
        this.#unstored.set(hex(hash), { key: hash, vector: vectors.slice(row * dim, (row + 1) * dim) })
    return isProcessDown
  }

  #logQuarantined({ gallId, postNo, position }: ImageKey, { message }: ModelError): void {
    this.#parts.log.error(
      { gall_id: gallId, post_no: postNo, position, problem: message },
      'image quarantined: it ends the image encoder; its post is scored without it until the service restarts',
    )
  }

  /** Waits `ms`, or until the queue is closed. */
  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      timer.unref()
      this.#endPause = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}

function imageName({ gallId, postNo, position }: ImageKey): string {
  return JSON.stringify([gallId, postNo, position])
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}
