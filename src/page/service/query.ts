/**
 * A query: JSON of one path, read anew when the server reports a change. It keeps the last answer while a newer one is on
 * its way or fails, and says so.
 */
import { useEffect, useState } from 'preact/hooks'
import { ApiError, getJson } from './api.js'
import { connection, type EventName } from './connection.js'

export interface Query<T> {
  /** Null before the first answer. */
  readonly data: T | null
  /** Of the last attempt. */
  readonly error: ApiError | null
  /** When `data` arrived, milliseconds since 1970. */
  readonly loadedAtMs: number | null
}

export interface QueryOptions {
  /** Events after which the answer may differ. A stream that opens always counts. */
  readonly refreshOn?: readonly EventName[]
  /** For figures that change without events. */
  readonly everyMs?: number
}

const nothing = { data: null, error: null, loadedAtMs: null }

/** `path` null: nothing is asked. */
export function useQuery<T>(path: string | null, options: QueryOptions = {}): Query<T> {
  const { refreshOn = [], everyMs } = options
  const [answer, setAnswer] = useState<Query<T> & { readonly path: string | null }>({ ...nothing, path })
  const events = ['reset', ...refreshOn].join()
  useEffect(() => {
    if (path === null) return
    const loader = new Loader<T>(path, (change) =>
      setAnswer((before) => ({ ...(before.path === path ? before : nothing), ...change, path })),
    )
    const forget = connection.on((name) => {
      if (events.split(',').includes(name)) loader.refresh()
    })
    const whenShown = (): void => loader.refreshIfDue()
    document.addEventListener('visibilitychange', whenShown)
    const timer = everyMs === undefined ? undefined : setInterval(() => loader.refresh(), everyMs)
    loader.refresh()
    return () => {
      forget()
      document.removeEventListener('visibilitychange', whenShown)
      clearInterval(timer)
      loader.stop()
    }
  }, [path, events, everyMs])
  return answer.path === path ? answer : nothing
}

/** Reads one path, one request at a time. What is asked for meanwhile, or while nobody looks, is read once afterwards. */
class Loader<T> {
  readonly #path: string
  readonly #onAnswer: (change: Partial<Query<T>>) => void
  readonly #abort = new AbortController()
  #isLoading = false
  #isDue = false

  constructor(path: string, onAnswer: (change: Partial<Query<T>>) => void) {
    this.#path = path
    this.#onAnswer = onAnswer
  }

  refresh(): void {
    if (this.#isLoading || (document.hidden && this.#isDue)) {
      this.#isDue = true
      return
    }
    this.#isDue = document.hidden
    void this.#load()
  }

  refreshIfDue(): void {
    if (this.#isDue && !document.hidden) this.refresh()
  }

  stop(): void {
    this.#abort.abort()
  }

  async #load(): Promise<void> {
    this.#isLoading = true
    try {
      const data = await getJson<T>(this.#path, this.#abort.signal)
      this.#onAnswer({ data, error: null, loadedAtMs: Date.now() })
    } catch (error) {
      if (this.#abort.signal.aborted) return
      this.#onAnswer({ error: error instanceof ApiError ? error : new ApiError(0, String(error)) })
    } finally {
      this.#isLoading = false
    }
    if (this.#isDue && !document.hidden && !this.#abort.signal.aborted) this.refresh()
  }
}
