/**
 * `/api/left`: the posts that left the pool last, from the records of the newest cycles, so that the page finds them by title,
 * gallery or number, even after a restart. Each record is read once.
 */
import { nextTurn } from '../../base/index.js'
import type { LeftPost, LeftPosts } from '../../contract/index.js'
import { departedPosts, endOf } from '../../history/index.js'
import type { ServerSources } from '../../server/index.js'
import { integerOf } from './picks.js'
import { searchText } from './search-text.js'
import { titlesAt, titlesUnreadable, type Entry } from './titles.js'

/** Two days at the usual interval. */
const cycleCountMax = 600
/** Posts of a day at the contract's volumes. */
const postCountMax = 5000
const limitDefault = 20
const limitMax = 100
const searchCharsMax = 200

interface LeftEntry {
  readonly post: Omit<LeftPost, 'title'>
  readonly entry: Entry
  /** Undefined until it is read from the record of the cycle with which the post entered. */
  title?: string
}

type LeftSources = Pick<ServerSources, 'store' | 'log'>

export interface LeftQuery {
  readonly search: string
  readonly limit: number
}

/** Throws `bad_request`. */
export function leftQuery(query: URLSearchParams): LeftQuery {
  return {
    search: searchText((query.get('q') ?? '').slice(0, searchCharsMax).trim()),
    limit: integerOf(query, 'limit', { min: 1, max: limitMax, fallback: limitDefault }),
  }
}

export class LeftPostLists {
  readonly #sources: LeftSources
  #byPosition = new Map<number, readonly LeftEntry[]>()

  constructor(sources: LeftSources) {
    this.#sources = sources
  }

  /** Rejects with the reason of `gone`, between two records, when that is aborted. */
  async find({ search, limit }: LeftQuery, gone: AbortSignal): Promise<LeftPosts> {
    const entries = await this.#newest(gone)
    // A search reads all titles before it filters; otherwise those that are shown suffice.
    const titled = search === '' ? entries.slice(0, limit) : entries
    await this.#readTitles(titled, gone)
    const posts = entries.map(({ post, title = null }) => ({ ...post, title }))
    const matching =
      search === ''
        ? posts
        : posts.filter(({ gall_id, post_no, title }) =>
            searchText(`${gall_id}/${post_no} ${title ?? ''}`).includes(search),
          )
    return { posts: matching.slice(0, limit), matching: matching.length, searched: entries.length }
  }

  /** Each title is read once, whoever requests it; calls at the same time share the work. */
  async #readTitles(entries: readonly LeftEntry[], gone: AbortSignal): Promise<void> {
    const { store, log } = this.#sources
    const untitled = entries.filter(({ title }) => title === undefined)
    for (const [position, ofCycle] of Map.groupBy(untitled, ({ entry }) => entry.position)) {
      await nextTurn()
      gone.throwIfAborted()
      if (store.closed) return
      if (ofCycle.every(({ title }) => title !== undefined)) continue
      try {
        const titleOf = titlesAt(store, position)
        for (const left of ofCycle) left.title = titleOf(left.entry.row)
      } catch (error) {
        // The next request retries.
        log.warn({ err: error, position }, titlesUnreadable)
      }
    }
  }

  /** Newest first. What a client that has gone has read stays for the next one. */
  async #newest(gone: AbortSignal): Promise<LeftEntry[]> {
    const newest = this.#sources.store.lastCycle()?.position ?? 0
    const oldest = Math.max(this.#sources.store.expiry.firstPosition(), newest - cycleCountMax + 1)
    const kept = new Map<number, readonly LeftEntry[]>()
    const all: LeftEntry[] = []
    for (let position = newest; position >= oldest && all.length < postCountMax; position--) {
      const known = this.#byPosition.get(position)
      // Between two records, the event loop serves requests.
      if (known === undefined) await nextTurn()
      gone.throwIfAborted()
      if (this.#sources.store.closed) break
      const entries = known ?? leftAt(this.#sources.store, position)
      this.#byPosition.set(position, entries)
      kept.set(position, entries)
      all.push(...entries)
    }
    this.#byPosition = kept
    return all.slice(0, postCountMax)
  }
}

/** The last removal first. */
function leftAt(store: ServerSources['store'], position: number): LeftEntry[] {
  return departedPosts(store, position)
    .reverse()
    .map(({ gallId, postNo, entered, departure }) => ({
      post: {
        cycle_id: departure.cycle.cycleId,
        gall_id: gallId,
        post_no: postNo,
        ...endOf(departure),
      },
      entry: entered,
    }))
}
