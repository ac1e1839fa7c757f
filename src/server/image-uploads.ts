/**
 * Image uploads. Bytes that are stored already are recognised by their hash: they were checked when they were stored. Others
 * are decoded and normalised in the thread pool, a few at a time, then stored. The body is checked before the conflict,
 * and the first image stored under a key stays.
 */
import { mebibyte, RecentBytes } from '../base/index.js'
import { Problems, ServiceError } from '../contract/index.js'
import { checkSignature, normaliseImage, type ImageSemaphore } from '../images/index.js'
import { StoreError, type ImageKey, type Store } from '../store/index.js'
import { throwUnavailable } from './store-errors.js'

/** Holds the images that were uploaded again last. */
const repeatedBytesMax = 16 * mebibyte

export interface Upload {
  readonly bytes: Uint8Array
  /** SHA-256 of the bytes. */
  readonly hash: Uint8Array
}

export interface StoredUpload {
  readonly created: boolean
  /** 64 hex characters. */
  readonly sha256: string
}

export class ImageUploads {
  readonly #store: Store
  readonly #semaphore: ImageSemaphore
  readonly #onCreated: (key: ImageKey) => void
  readonly #repeated = new RecentBytes<Uint8Array>(repeatedBytesMax)

  /** `onCreated` is called for every image that has become durable. */
  constructor(store: Store, semaphore: ImageSemaphore, onCreated: (key: ImageKey) => void) {
    this.#store = store
    this.#semaphore = semaphore
    this.#onCreated = onCreated
  }

  /**
   * Throws `unavailable` when the queue has no room for an upload of this size: called before its body is received. One whose key
   * has an image may be a repeat, which needs no place in the queue.
   */
  refuseIfFull(bytes: number, keyOf: () => ImageKey | null): void {
    if (!this.#semaphore.isFull || this.#hasImage(keyOf())) return
    this.#semaphore.refuseIfFull(bytes)
  }

  /** The image of this many bytes that was uploaded again a short time ago. Its bytes do not change. */
  repeatedBytes(length: number): Uint8Array | undefined {
    return this.#repeated.ofLength(length)
  }

  /** The hash of an image that was uploaded again a short time ago. */
  repeatedHash(bytes: Uint8Array): Uint8Array | undefined {
    return this.#repeated.find(bytes)
  }

  /**
   * `claimedSha256`: the well-formed value of `X-Content-SHA256`, if sent. Throws 400, 409, 413, 415, 503, and the reason of
   * `signal` when that is aborted while the upload waits.
   */
  async put(
    key: ImageKey,
    { bytes, hash }: Upload,
    claimedSha256: string | undefined,
    signal?: AbortSignal,
  ): Promise<StoredUpload> {
    checkSignature(bytes)
    const sha256 = Buffer.from(hash).toString('hex')
    checkClaim(claimedSha256, sha256)
    if (await this.#isRepeat(key, hash)) {
      if (this.repeatedHash(bytes) === undefined) this.#repeated.keep(bytes, hash)
      return { created: false, sha256 }
    }
    const image = await this.#semaphore.run(bytes.length, () => normaliseImage(bytes, hash), signal)
    const result = await this.#store.putImage(key, image).catch((error: unknown) => {
      if (this.#isStored(key, hash)) this.#onCreated(key)
      return throwUnavailable(error)
    })
    if (result === 'different') {
      throw new ServiceError({ code: 'other_image' })
    }
    if (result === 'created') this.#onCreated(key)
    return { created: result === 'created', sha256 }
  }

  /** Whether this image is stored. It then counts as having arrived now. */
  async #isRepeat(key: ImageKey, hash: Uint8Array): Promise<boolean> {
    try {
      return await this.#store.confirmImage(key, hash)
    } catch (error) {
      // Only the arrival time is lost. Retention cannot write now either, so the image stays.
      if (error instanceof StoreError && this.#isStored(key, hash)) return true
      return throwUnavailable(error)
    }
  }

  /** False also when the store cannot be read. */
  #hasImage(key: ImageKey | null): boolean {
    try {
      return key !== null && this.#store.readImageHash(key) !== undefined
    } catch {
      return false
    }
  }

  /** A write that reported an error may have reached the disk. The store decides. */
  #isStored(key: ImageKey, hash: Uint8Array): boolean {
    const stored = this.#store.closed ? undefined : this.#store.readImageHash(key)
    return stored !== undefined && Buffer.compare(stored, hash) === 0
  }
}

function checkClaim(claimed: string | undefined, actual: string): void {
  if (claimed === undefined || claimed === actual) return
  const problems = new Problems()
  problems.add('X-Content-SHA256', 'does not match the body')
  throw problems.toError('image_hash_differs')
}
