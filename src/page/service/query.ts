/**
 * A query: JSON of one path, read again when the server reports a change and after a failure. It keeps the last response while
 * a newer one is on its way or fails.
 */
import { useEffect, useState } from 'preact/hooks'
import type { Messages } from '../messages/index.js'
import { apiErrorOf, getJson, type ApiError } from './api.js'
import { Backoff } from './backoff.js'
import { serverNowMs } from './clock.js'
import { connection, type EventName } from './connection.js'
import { Topic, useWatched } from './topic.js'

export interface Query<T> {
  /** Null before the first response. */
  readonly data: T | null
  /** Error of the last attempt. */
  readonly error: ApiError | null
  /** When `data` arrived, milliseconds since 1970. */
  readonly loadedAtMs: number | null
}

export interface QueryOptions {
  /** Events after which the response may differ. A stream that opens always counts. */
  readonly refreshOn?: readonly EventName[]
  /** Suits figures that change without events. */
  readonly everyMs?: number
  /** Reads a path in more than one request. */
  readonly read?: (path: string, signal: AbortSignal) => Promise<unknown>
}

const nothing = { data: null, error: null, loadedAtMs: null }

/** `path` null: nothing is requested. */
export function useQuery<T>(path: string | null, options: QueryOptions = {}): Query<T> {
  const { refreshOn = [], everyMs, read = getJson } = options
  const [response, setResponse] = useState<Query<T> & { readonly path: string | null }>({ ...nothing, path })
  const events = ['reset', ...refreshOn].join()
  useEffect(() => {
    if (path === null) return
    const loader = new Loader<T>(path, read, (change) =>
      setResponse((before) => ({ ...(before.path === path ? before : nothing), ...change, path })),
    )
    const forget = connection.events.on((name) => {
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
  }, [path, events, everyMs, read])
  return response.path === path ? response : nothing
}

/** A member of the messages: what readers call the data. */
type DataName = keyof Messages['data']

/** Data that the page shows although a newer response could not be read. */
export interface StaleData {
  readonly what: DataName
  /** When it was read, milliseconds since 1970. */
  readonly sinceMs: number
  readonly reason: string
}

const stale = new Map<object, StaleData>()
const staleChanged = new Topic<[]>()

/** All stale data of the views that are shown. */
export function staleData(): readonly StaleData[] {
  return [...stale.values()]
}

export function useStaleData(): readonly StaleData[] {
  return useWatched(staleData, (onChange) => staleChanged.on(onChange))
}

/** Reads one path, one request at a time. Requests during a read, or while the tab is hidden, cause one read afterwards. */
export class Loader<T> {
  readonly #path: string
  readonly #read: NonNullable<QueryOptions['read']>
  readonly #onResponse: (change: Partial<Query<T>>) => void
  readonly #abort = new AbortController()
  readonly #backoff = new Backoff(() => this.refresh())
  #loadedAtMs: number | null = null
  #isLoading = false
  #isDue = false

  constructor(
    path: string,
    read: NonNullable<QueryOptions['read']>,
    onResponse: (change: Partial<Query<T>>) => void,
  ) {
    this.#path = path
    this.#read = read
    this.#onResponse = onResponse
  }

  refresh(): void {
    // A page that opens in the background reads once.
    this.#isDue = this.#isLoading || (document.hidden && this.#loadedAtMs !== null)
    if (!this.#isDue) this.#load().catch(reportError)
  }

  refreshIfDue(): void {
    if (this.#isDue && !document.hidden) this.refresh()
  }

  stop(): void {
    this.#abort.abort()
    this.#recover()
  }

  async #load(): Promise<void> {
    this.#isLoading = true
    try {
      const data = (await this.#read(this.#path, this.#abort.signal)) as T
      this.#loadedAtMs = serverNowMs()
      this.#recover()
      this.#onResponse({ data, error: null, loadedAtMs: this.#loadedAtMs })
    } catch (thrown) {
      if (this.#abort.signal.aborted) return
      this.#fail(apiErrorOf(thrown))
    } finally {
      this.#isLoading = false
    }
    this.refreshIfDue()
  }

  #fail(error: ApiError): void {
    // Data that is not found is not stale: it no longer exists.
    if (this.#loadedAtMs !== null && error.status !== 404) {
      stale.set(this, { what: nameOf(this.#path), sinceMs: this.#loadedAtMs, reason: error.message })
      staleChanged.emit()
    }
    if (error.isTemporary) this.#backoff.schedule()
    this.#onResponse({ error })
  }

  /** Cancels the next attempt. */
  #recover(): void {
    this.#backoff.reset()
    if (stale.delete(this)) staleChanged.emit()
  }
}

/** `posts` of `/api/posts/gallery/12?…`. */
function nameOf(path: string): DataName {
  const [, , name = '', ...rest] = path.split(/[/?]/)
  return (rest.at(-1) === 'history' ? 'history' : name) as DataName
}
