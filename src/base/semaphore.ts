/**
 * A counting semaphore: limits how many pieces of work run at the same time and how many may wait. The others wait in
 * order of arrival. A caller that is aborted while it waits leaves the queue.
 */
import assert from 'node:assert/strict'

export interface WaitingLimit {
  readonly waitingMax: number
  /** The error of a further caller. */
  readonly refusal: () => Error
}

export class Semaphore {
  readonly #activeMax: number
  readonly #limit: WaitingLimit | null
  #activeCount = 0
  /** Each resolves the wait of one caller. */
  readonly #waiting: (() => void)[] = []

  /** Without a limit any number of callers may wait: something else must bound them. */
  constructor(activeMax: number, limit: WaitingLimit | null = null) {
    this.#activeMax = activeMax
    this.#limit = limit
  }

  /** Pieces of work that run and that wait. */
  get count(): number {
    return this.#activeCount + this.#waiting.length
  }

  /** True if another caller would have to wait. */
  get isFull(): boolean {
    return this.#activeCount >= this.#activeMax
  }

  get waitingCount(): number {
    return this.#waiting.length
  }

  /**
   * Runs `work` when a permit is free. Rejects without running it: with the refusal when too many callers wait, with the
   * reason of `signal` when that is aborted first. Work that has begun is not aborted.
   */
  async run<Result>(work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    await this.#acquire(signal)
    try {
      return await work()
    } finally {
      this.#release()
    }
  }

  async #acquire(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted()
    if (this.#activeCount < this.#activeMax) {
      this.#activeCount++
      return
    }
    const limit = this.#limit
    if (limit !== null && this.#waiting.length >= limit.waitingMax) throw limit.refusal()
    await new Promise<void>((resolve, reject) => {
      const start = (): void => {
        signal?.removeEventListener('abort', leave)
        resolve()
      }
      const leave = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(start), 1)
        reject(signal?.reason as Error)
      }
      signal?.addEventListener('abort', leave, { once: true })
      this.#waiting.push(start)
    })
  }

  /** The permit passes to the next caller, or becomes free. */
  #release(): void {
    const start = this.#waiting.shift()
    if (start === undefined) this.#activeCount--
    else start()
    assert(this.#activeCount >= 0, 'each permit is released once')
  }
}

/** Settles as `promise` does, or rejects with the reason of `signal` when that is aborted first. */
export async function abortable<Result>(promise: Promise<Result>, signal?: AbortSignal): Promise<Result> {
  if (signal === undefined) return promise
  signal.throwIfAborted()
  let abort = (): void => undefined
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason as Error)
    signal.addEventListener('abort', abort, { once: true })
  })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
