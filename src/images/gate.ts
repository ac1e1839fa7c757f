/**
 * How much image work is taken on at once. A burst of uploads waits here, in order, and a burst that would wait too long
 * is told to come back. Memory is bounded where bodies are received; this bounds the queue.
 */
import { ServiceError } from '../contract/index.js'

export interface ImageGateOptions {
  /** Pictures worked on at once. */
  readonly activeCountMax?: number
  /** Bytes of uploads that may wait for their turn. */
  readonly waitingBytesMax?: number
}

const retryAfterS = 5
/** A waiting upload costs its request too, however small the picture. */
const requestBytes = 16 * 1024

interface Waiting {
  readonly bytes: number
  readonly start: () => void
}

export class ImageGate {
  readonly #activeCountMax: number
  readonly #waitingBytesMax: number
  #activeCount = 0
  #waiting: Waiting[] = []
  #waitingBytes = 0

  constructor(options: ImageGateOptions = {}) {
    // Two: as many as there are cores to spare, and libuv's four threads also commit and hash.
    this.#activeCountMax = options.activeCountMax ?? 2
    this.#waitingBytesMax = options.waitingBytesMax ?? 256 * 1024 * 1024
  }

  /**
   * Runs `work`, which holds `bytes` of upload, when its turn comes. Rejects with a ServiceError `unavailable`, without
   * having run it, when too much is waiting.
   */
  async run<T>(bytes: number, work: () => Promise<T>): Promise<T> {
    await this.#enter(bytes + requestBytes)
    try {
      return await work()
    } finally {
      this.#leave()
    }
  }

  /** Pictures in work and waiting, for metrics. */
  get load(): { activeCount: number; waitingCount: number; waitingBytes: number } {
    return {
      activeCount: this.#activeCount,
      waitingCount: this.#waiting.length,
      waitingBytes: this.#waitingBytes,
    }
  }

  async #enter(bytes: number): Promise<void> {
    if (this.#activeCount < this.#activeCountMax) {
      this.#activeCount++
      return
    }
    if (this.#waitingBytes + bytes > this.#waitingBytesMax)
      throw new ServiceError('unavailable', 'too many images are waiting to be checked', { retryAfterS })
    this.#waitingBytes += bytes
    await new Promise<void>((start) => this.#waiting.push({ bytes, start }))
  }

  /** Hands the place to the next in line, or gives it up. */
  #leave(): void {
    const next = this.#waiting.shift()
    if (next === undefined) {
      this.#activeCount--
      return
    }
    this.#waitingBytes -= next.bytes
    next.start()
  }
}
