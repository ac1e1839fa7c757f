/**
 * The semaphore of image work: a fixed number of images is processed at a time, further uploads wait in order, and an
 * upload that would wait too long is refused with Retry-After. The memory of bodies is limited where they are received.
 */
import { RetrySchedule, ServiceError } from '../contract/index.js'

/** An upload that would wait longer is refused: a later retry is served sooner than a long queue. */
const waitMsMax = 500
/** This many uploads may wait however long images take: one slow image must not cause refusals. */
const waitingCountMin = 16
/** Memory of a waiting request besides its body. */
const requestBytes = 16 * 1024

export class ImageSemaphore {
  /** Bytes of uploads that may wait. May change at any time. Waiting uploads continue. */
  waitingBytesMax: number
  readonly #activeCountMax: number
  #activeCount = 0
  readonly #waiting: (() => void)[] = []
  #waitingBytes = 0
  readonly #retrySchedule = new RetrySchedule()
  #leftAtMs = 0

  /** `activeCountMax`: images processed at a time. The default of two leaves libuv threads for commits and hashing. */
  constructor({ activeCountMax = 2, waitingBytesMax = 256 * 1024 * 1024 } = {}) {
    this.#activeCountMax = activeCountMax
    this.waitingBytesMax = waitingBytesMax
  }

  /**
   * Runs `work` on an upload of `bytes` as soon as the limits allow. Rejects with a ServiceError `unavailable`, without
   * running it, when too much is waiting.
   */
  async run<T>(bytes: number, work: () => Promise<T>): Promise<T> {
    if (this.#activeCount < this.#activeCountMax) this.#activeCount++
    else await this.#wait(bytes)
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

  async #wait(bytes: number): Promise<void> {
    this.refuseIfFull(bytes)
    const heldBytes = bytes + requestBytes
    this.#waitingBytes += heldBytes
    await new Promise<void>((start) => this.#waiting.push(start))
    this.#waitingBytes -= heldBytes
  }

  #leave(startedAtMs: number): void {
    // Images that are processed in parallel end soon after each other: what counts is the time between two completions.
    const nowMs = performance.now()
    this.#retrySchedule.recordWork(nowMs - Math.max(startedAtMs, this.#leftAtMs))
    this.#leftAtMs = nowMs
    // The slot passes to the next upload, or becomes free.
    const startNext = this.#waiting.shift()
    if (startNext === undefined) this.#activeCount--
    else startNext()
  }
}
