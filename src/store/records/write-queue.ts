/**
 * Writes wait in a queue, and all that wait when a commit ends form the next one, up to a number of bytes.
 */
import { mebibyte } from '../../base/index.js'
import { assert } from '../../contract/index.js'
import { StoreError } from '../store-error.js'

export interface WaitingWrite {
  /** About how much it writes. */
  readonly bytes: number
  /** This write shows by its success that cycles can be stored. */
  readonly isCycle: boolean
  readonly apply: () => unknown
  readonly resolve: (value: unknown) => void
  readonly reject: (reason: unknown) => void
}

/** Limit of the bytes in the queue; a write that would exceed it is refused, unless the queue is empty. */
export const waitingBytesMax = 256 * mebibyte

export interface WriteQueueOptions {
  /** One commit takes writes of up to this many bytes together, or a single larger one. */
  readonly batchBytesMax: number
  /** Settles each write of the batch. Never rejects. */
  readonly commit: (batch: readonly WaitingWrite[]) => Promise<void>
}

export class WriteQueue {
  readonly #options: WriteQueueOptions
  #waiting: WaitingWrite[] = []
  #waitingBytes = 0
  #draining: Promise<void> | undefined

  constructor(options: WriteQueueOptions) {
    this.#options = options
  }

  /** Settles as the commit settles the write. Rejects with a StoreError `busy` when the write queue is full. */
  add<T>(bytes: number, apply: () => T, isCycle = false): Promise<T> {
    if (this.#waitingBytes > 0 && this.#waitingBytes + bytes > waitingBytesMax)
      return Promise.reject(new StoreError('busy', 'the write queue is full'))
    this.#waitingBytes += bytes
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ bytes, isCycle, apply, resolve: resolve as (value: unknown) => void, reject })
      this.#draining ??= this.#drain()
    })
  }

  /** Resolves when the queue is empty and no commit is under way. */
  async idle(): Promise<void> {
    await this.#draining
  }

  async #drain(): Promise<void> {
    // Further writes of this turn of the event loop join the first commit.
    await Promise.resolve()
    while (this.#waiting.length > 0) {
      const batch = this.#takeBatch()
      await this.#options.commit(batch)
      for (const { bytes } of batch) this.#waitingBytes -= bytes
    }
    assert(this.#waitingBytes === 0, 'an empty queue holds no bytes')
    this.#draining = undefined
  }

  #takeBatch(): WaitingWrite[] {
    const { batchBytesMax } = this.#options
    let count = 0
    let bytes = 0
    for (const write of this.#waiting) {
      bytes += write.bytes
      if (count > 0 && bytes > batchBytesMax) break
      count++
    }
    return this.#waiting.splice(0, count)
  }
}
