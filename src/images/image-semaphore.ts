/**
 * The semaphore of image work: a fixed number of images is processed at a time, further uploads wait in order, and an
 * upload that would wait too long is refused with Retry-After. The memory of bodies is limited where they are received.
 */
import { RetrySchedule, ServiceError } from '../contract/index.js'

export interface ImageSemaphoreOptions {
  /** Images processed at a time. The default of two leaves libuv threads for commits and hashing. */
  readonly activeCountMax?: number
  /** Bytes of uploads that may wait. */
  readonly waitingBytesMax?: number
}

/** An upload that would wait longer is refused: a later retry is served sooner than a long queue. */
const waitMsMax = 500
/** This many uploads may wait however long images take: one slow image must not cause refusals. */
const waitingCountMin = 16
/** Memory of a waiting request besides its body. */
const requestBytes = 16 * 1024

interface Waiting {
  readonly bytes: number
  readonly start: () => void
}

export class ImageSemaphore {
  /** May change at any time. Waiting uploads continue. */
  waitingBytesMax: number
  readonly #activeCountMax: number
  #activeCount = 0
  #waiting: Waiting[] = []
  #waitingBytes = 0
  readonly #retrySchedule = new RetrySchedule()
  #leftAtMs = 0

  constructor({ activeCountMax = 2, waitingBytesMax = 256 * 1024 * 1024 }: ImageSemaphoreOptions = {}) {
    this.#activeCountMax = activeCountMax
    this.waitingBytesMax = waitingBytesMax
  }

  /**
   * Runs `work` on an upload of `bytes` as soon as the limits allow. Rejects with a ServiceError `unavailable`, without
   * running it, when too much is waiting.
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

  /** Throws the error that `run` would reject with now, for an upload of `bytes`. */
  refuseIfFull(bytes: number): void {
    if (this.#activeCount < this.#activeCountMax) return
    const waitingCount = this.#waiting.length
    const tooLong =
      waitingCount >= waitingCountMin && waitingCount * this.#retrySchedule.meanWorkMs > waitMsMax
    if (!tooLong && this.#waitingBytes + bytes + requestBytes <= this.waitingBytesMax) return
    throw new ServiceError('unavailable', 'too many images are waiting to be checked', {
      retryAfterS: this.#retrySchedule.reserve(waitingCount, waitingCountMin),
    })
  }

  /** Images in progress and waiting, for metrics. */
  get load(): { activeCount: number; waitingCount: number; waitingBytes: number } {
    return {
      activeCount: this.#activeCount,
      waitingCount: this.#waiting.length,
      waitingBytes: this.#waitingBytes,
    }
  }

  async #enter(bytes: number): Promise<void> {
    // While an upload is waiting, all slots are taken: a new one cannot overtake it.
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
    // Images that are processed in parallel end soon after each other: what counts is the time between two completions.
    const nowMs = performance.now()
    this.#retrySchedule.recordWork(nowMs - Math.max(startedAtMs, this.#leftAtMs))
    this.#leftAtMs = nowMs
    this.#startNext()
  }

  /** Starts waiting work up to the limit. */
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
