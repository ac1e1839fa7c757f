/**
 * Image uploads: hash, decode and normalise in the thread pool, a few at a time, then store. The body is checked before the
 * conflict (decisions.md 30), and the first image stored under a key stays (decisions.md 26).
 */
import { Problems, ServiceError } from '../contract/index.js'
import {
  checkSignature,
  hashUpload,
  normaliseImage,
  type ImageSemaphore,
  type NormalisedImage,
} from '../images/index.js'
import { StoreError, type ImageKey, type Store } from '../store/index.js'
import { throwUnavailable } from './store-errors.js'

export interface StoredUpload {
  readonly created: boolean
  /** 64 hex characters. */
  readonly sha256: string
}

export class ImageUploads {
  readonly #store: Store
  readonly #semaphore: ImageSemaphore
  readonly #onCreated: (key: ImageKey) => void

  /** `onCreated` is called for every image that has become durable. */
  constructor(store: Store, semaphore: ImageSemaphore, onCreated: (key: ImageKey) => void) {
    this.#store = store
    this.#semaphore = semaphore
    this.#onCreated = onCreated
  }

  /** Throws `unavailable` when the queue has no room for an upload of this size: called before its body is received. */
  refuseIfFull(bytes: number): void {
    this.#semaphore.refuseIfFull(bytes)
  }

  /**
   * `claimedSha256`: the well-formed value of `X-Content-SHA256`, if sent. Throws 400, 409, 413, 415, 503, and the reason of
   * `signal` when that is aborted while the upload waits.
   */
  async put(
    key: ImageKey,
    bytes: Uint8Array,
    claimedSha256: string | undefined,
    signal?: AbortSignal,
  ): Promise<StoredUpload> {
    checkSignature(bytes)
    const { sha256, image, isConfirmed } = await this.#semaphore.run(
      bytes.length,
      () => this.#examine(key, bytes, claimedSha256),
      signal,
    )
    const result = await this.#store.putImage(key, image).catch((error: unknown) => {
      const isStored = this.#isStored(key, image)
      // Only the refreshed arrival time is lost. Retention cannot write now either, so the image stays.
      if (isStored && isConfirmed && error instanceof StoreError) return 'same' as const
      if (isStored) this.#onCreated(key)
      return throwUnavailable(error)
    })
    if (result === 'different') {
      throw new ServiceError('conflict', 'an image with this key already exists with different bytes')
    }
    if (result === 'created') this.#onCreated(key)
    return { created: result === 'created', sha256 }
  }

  /** A write that reported an error may have reached the disk. The store decides. */
  #isStored(key: ImageKey, { sha256 }: NormalisedImage): boolean {
    const stored = this.#store.closed ? undefined : this.#store.readImageHash(key)
    return stored !== undefined && Buffer.compare(stored, sha256) === 0
  }

  /**
   * Hash and normalised image. If the same bytes are stored under this key, the stored image: it need not be decoded
   * again. It is written again anyway, since retention may be removing it, and to refresh its arrival time.
   */
  async #examine(
    key: ImageKey,
    bytes: Uint8Array,
    claimedSha256: string | undefined,
  ): Promise<{ sha256: string; image: NormalisedImage; isConfirmed: boolean }> {
    const hash = await hashUpload(bytes)
    const sha256 = Buffer.from(hash).toString('hex')
    checkClaim(claimedSha256, sha256)
    const known = this.#store.findImage(key)
    if (known !== undefined && Buffer.compare(known.sha256, hash) === 0)
      return { sha256, image: known, isConfirmed: true }
    return { sha256, image: await normaliseImage(bytes, hash), isConfirmed: false }
  }
}

function checkClaim(claimed: string | undefined, actual: string): void {
  if (claimed === undefined || claimed === actual) return
  const problems = new Problems()
  problems.add('X-Content-SHA256', 'does not match the body')
  throw problems.toError('bad_request', 'the hash in the header differs from that of the image')
}
