/**
 * How much image work is taken on at once. A burst of uploads waits here, in order, and a burst that would wait too long
 * is told to come back. Memory is bounded where bodies are received; this bounds the queue.
 */
import { RetrySchedule, ServiceError } from '../contract/index.js'

export interface ImageGateOptions {
  /** Pictures worked on at once. */
  readonly activeCountMax?: number | undefined
  /** Bytes of uploads that may wait for their turn. */
  readonly waitingBytesMax?: number | undefined
}

/** An upload that would wait longer is refused: whoever comes back later is served sooner than in a long line. */
const waitMsMax = 500
/** So many may wait however long pictures take: one slow picture must not turn others away. */
const waitingCountMin = 16
/** A waiting upload costs its request too, however small the picture. */
const requestBytes = 16 * 1024

interface Waiting {
  readonly bytes: number
  readonly start: () => void
}

export class ImageGate {
  #activeCountMax = 2
  #waitingBytesMax = 256 * 1024 * 1024
  #activeCount = 0
  #waiting: Waiting[] = []
  #waitingBytes = 0
  readonly #retrySchedule = new RetrySchedule()
  #leftAtMs = 0

  // Two at once: as many as there are cores to spare, and libuv's four threads also commit and hash.
  constructor(options: ImageGateOptions = {}) {
    this.limit(options)
  }

  /** Changes limits; what is absent stays. What is in work or waiting already goes on. */
  limit({ activeCountMax, waitingBytesMax }: ImageGateOptions): void {
    this.#activeCountMax = activeCountMax ?? this.#activeCountMax
    this.#waitingBytesMax = waitingBytesMax ?? this.#waitingBytesMax
    this.#startNext()
  }

  /**
   * Runs `work`, which holds `bytes` of upload, when its turn comes. Rejects with a ServiceError `unavailable`, without
   * having run it, when too much is waiting.
   */
  async run<T>(bytes: number, work: () => Promise<T>): Promise<T> {
    await this.#enter(bytes)
    const startedAtMs = performance.now()
    try {
      return await work()
    } finally {
      this.#leave(startedAtMs)
    }
  }

  /** Throws what `run` would reject with if it were called now, with so many bytes of upload. */
  refuseIfFull(bytes: number): void {
    if (this.#activeCount < this.#activeCountMax) return
    const waitingCount = this.#waiting.length
    const tooLong =
      waitingCount >= waitingCountMin && waitingCount * this.#retrySchedule.meanWorkMs > waitMsMax
    if (!tooLong && this.#waitingBytes + bytes + requestBytes <= this.#waitingBytesMax) return
    throw new ServiceError('unavailable', 'too many images are waiting to be checked', {
      retryAfterS: this.#retrySchedule.reserve(waitingCount, waitingCountMin),
    })
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
    // While anyone waits, all places are taken.
    if (this.#activeCount < this.#activeCountMax) {
      this.#activeCount++
      return
    }
    this.refuseIfFull(bytes)
    const held = bytes + requestBytes
    this.#waitingBytes += held
    await new Promise<void>((start) => this.#waiting.push({ bytes: held, start }))
  }

  #leave(startedAtMs: number): void {
    this.#activeCount--
    // Pictures worked on side by side end one soon after the other: what counts is how often one ends.
    const nowMs = performance.now()
    this.#retrySchedule.recordWork(nowMs - Math.max(startedAtMs, this.#leftAtMs))
    this.#leftAtMs = nowMs
    this.#startNext()
  }

  /** Gives the places that are free to the next in line. */
  #startNext(): void {
    while (this.#activeCount < this.#activeCountMax) {
      const next = this.#waiting.shift()
      if (next === undefined) return
      this.#waitingBytes -= next.bytes
      this.#activeCount++
      next.start()
    }
  }
}
