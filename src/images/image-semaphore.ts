/**
 * The semaphore of image work: a fixed number of images is processed at a time, further uploads wait in order, and an
 * upload that would wait too long is refused with Retry-After. The memory of bodies is limited where they are received.
 */
import { kibibyte, Semaphore } from '../base/index.js'
import { assert, RetrySchedule, ServiceError } from '../contract/index.js'

/** Images processed at a time: libuv threads are left for commits and hashing. */
const activeCountMax = 2
/** An upload that would wait longer is refused: a later retry is served sooner than a long queue. */
const waitMsMax = 500
/** This many uploads may wait however long images take: one slow image must not cause refusals. */
const waitingCountMin = 16
/** Memory of a waiting request besides its body. */
const requestBytes = 16 * kibibyte

export class ImageSemaphore {
  /** Bytes of uploads that may wait. May change at any time. Waiting uploads continue. */
  waitingBytesMax: number
  readonly #permits = new Semaphore(activeCountMax)
  #waitingBytes = 0
  readonly #retrySchedule = new RetrySchedule()
  /** When the last upload was processed. */
  #endedAtMs = 0

  constructor(waitingBytesMax: number) {
    this.waitingBytesMax = waitingBytesMax
  }

  /** Uploads that are processed and that wait. */
  get count(): number {
    return this.#permits.count
  }

  /** Whether a further upload would wait. */
  get isFull(): boolean {
    return this.#permits.isFull
  }

  /** Bytes of the uploads that wait. */
  get waitingBytes(): number {
    return this.#waitingBytes
  }

  /**
   * Runs `work` on an upload of `bytes` as soon as the limits allow. Rejects without running it: with a ServiceError
   * `unavailable` when too much is waiting, with the reason of `signal` when that is aborted first.
   */
  async run<T>(bytes: number, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    this.refuseIfFull(bytes)
    let waitingBytes = this.#permits.isFull ? bytes + requestBytes : 0
    this.#waitingBytes += waitingBytes
    const endWaiting = (): void => {
      this.#waitingBytes -= waitingBytes
      waitingBytes = 0
      assert(this.#waitingBytes >= 0, 'bytes that wait are released once')
    }
    try {
      return await this.#permits.run(() => {
        endWaiting()
        return this.#timed(work)
      }, signal)
    } finally {
      endWaiting()
    }
  }

  /** Throws the error that `run` would reject with now, for an upload of `bytes`. */
  refuseIfFull(bytes: number): void {
    if (!this.#permits.isFull) return
    const { waitingCount } = this.#permits
    const tooLong =
      waitingCount >= waitingCountMin && waitingCount * this.#retrySchedule.meanWorkMs > waitMsMax
    if (!tooLong && this.#waitingBytes + bytes + requestBytes <= this.waitingBytesMax) return
    const retryAfterS = this.#retrySchedule.reserve(waitingCount, waitingCountMin)
    throw new ServiceError({ code: 'too_many_images' }, { retryAfterS })
  }

  async #timed<T>(work: () => Promise<T>): Promise<T> {
    const startedAtMs = performance.now()
    try {
      return await work()
    } finally {
      // Images that are processed in parallel end soon after each other: what counts is the time between two completions.
      const nowMs = performance.now()
      this.#retrySchedule.recordWork(nowMs - Math.max(startedAtMs, this.#endedAtMs))
      this.#endedAtMs = nowMs
    }
  }
}
