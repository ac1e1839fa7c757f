/**
 * What happens after a request fails: it is repeated with growing delays, and while the page shows an earlier answer, it
 * says since when and why.
 */
import { useEffect, useState } from 'preact/hooks'
import type { ApiError } from './api.js'
import { serverNowMs } from './clock.js'
import { Topic } from './topic.js'

const retryMsMin = 1000
const retryMsMax = 15_000

/** Repeats something that has failed. The delay doubles with each failure and varies, so that pages do not ask together. */
export class Backoff {
  readonly #work: () => void
  #delayMs = retryMsMin
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(work: () => void) {
    this.#work = work
  }

  schedule(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(this.#work, this.#delayMs * (0.75 + Math.random() / 4))
    this.#delayMs = Math.min(2 * this.#delayMs, retryMsMax)
  }

  /** Cancels what is scheduled; the next delay is the shortest one. */
  reset(): void {
    clearTimeout(this.#timer)
    this.#delayMs = retryMsMin
  }
}

/** Data that the page shows although a newer answer could not be read. */
export interface StaleData {
  /** Such as `models`. */
  readonly what: string
  /** When it was read, milliseconds since 1970. */
  readonly sinceMs: number
  readonly reason: string
}

const stale = new Map<Attempts, StaleData>()
const staleChanged = new Topic<[]>()

/** The attempts of one reader of one kind of data. */
export class Attempts {
  /** When the last answer arrived, milliseconds since 1970; null: none has. */
  loadedAtMs: number | null = null
  readonly #what: string
  readonly #backoff: Backoff

  constructor(what: string, again: () => void) {
    this.#what = what
    this.#backoff = new Backoff(again)
  }

  succeeded(): void {
    this.loadedAtMs = serverNowMs()
    this.stop()
  }

  failed(error: ApiError): void {
    // Data that is not found is not stale: it no longer exists.
    if (this.loadedAtMs !== null && error.status !== 404) {
      stale.set(this, { what: this.#what, sinceMs: this.loadedAtMs, reason: error.message })
      staleChanged.emit()
    }
    if (error.isTemporary) this.#backoff.schedule()
  }

  /** Cancels the next attempt. */
  stop(): void {
    this.#backoff.reset()
    if (stale.delete(this)) staleChanged.emit()
  }
}

/** All stale data of the views that are shown. */
export function useStaleData(): readonly StaleData[] {
  const [data, setData] = useState<readonly StaleData[]>([])
  useEffect(() => {
    const update = (): void => setData([...stale.values()])
    update()
    return staleChanged.on(update)
  }, [])
  return data
}
