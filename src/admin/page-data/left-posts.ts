/**
 * `/api/left`: the posts that left the pool last, from the records of the newest cycles, so that the page finds them by title,
 * gallery or number, even after a restart. Each record is read once.
 */
import { nextTurn } from '../../base/index.js'
import type { LeftPost, LeftPosts } from '../../contract/index.js'
import { departedPosts, endOf } from '../../history/index.js'
import type { ServerSources } from '../../server/index.js'
import { integerOf } from './picks.js'
import type { Entry, Titles } from './titles.js'

/** Two days at the usual interval. */
const cycleCountMax = 600
/** Posts of a day at the contract's volumes. */
const postCountMax = 5000
const limitDefault = 20
const limitMax = 100
const searchCharsMax = 200

interface LeftEntry extends Omit<LeftPost, 'title'> {
  readonly entry: Entry
}

export interface LeftQuery {
  readonly search: string
  readonly limit: number
}

/** Throws `bad_request`. */
export function leftQuery(query: URLSearchParams): LeftQuery {
  return {
    search: (query.get('q') ?? '').slice(0, searchCharsMax).trim().toLowerCase(),
    limit: integerOf(query, 'limit', { min: 1, max: limitMax, fallback: limitDefault }),
  }
}

export class LeftPostLists {
  readonly #store: ServerSources['store']
  readonly #titles: Titles
  #byPosition = new Map<number, readonly LeftEntry[]>()

  constructor({ store }: Pick<ServerSources, 'store'>, titles: Titles) {
    this.#store = store
    this.#titles = titles
  }

  /** Rejects with the reason of `gone`, between two records, when that is aborted. */
  async find({ search, limit }: LeftQuery, gone: AbortSignal): Promise<LeftPosts> {
    const entries = await this.#newest(gone)
    // A search reads all titles before it filters; otherwise those that are shown suffice.
    const titled = search === '' ? entries.slice(0, limit) : entries
    await this.#titles.readEntries(
      titled.map(({ entry }) => entry),
      gone,
    )
    const posts = entries.map(({ entry, ...post }) => ({ ...post, title: this.#titles.at(entry) }))
    const matching = posts.filter(({ gall_id, post_no, title }) =>
      `${gall_id}/${post_no} ${title ?? ''}`.toLowerCase().includes(search),
    )
    return { posts: matching.slice(0, limit), matching: matching.length, searched: entries.length }
  }

  /** Newest first. What a client that has gone has read stays for the next one. */
  async #newest(gone: AbortSignal): Promise<LeftEntry[]> {
    const newest = this.#store.lastCycle()?.position ?? 0
    const oldest = Math.max(this.#store.expiry.firstPosition(), newest - cycleCountMax + 1)
    const kept = new Map<number, readonly LeftEntry[]>()
    const all: LeftEntry[] = []
    for (let position = newest; position >= oldest && all.length < postCountMax; position--) {
      const known = this.#byPosition.get(position)
      // Between two records, the event loop serves requests.
      if (known === undefined) await nextTurn()
      gone.throwIfAborted()
      if (this.#store.closed) break
      const entries = known ?? leftAt(this.#store, position)
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
      cycle_id: departure.cycle.cycleId,
      gall_id: gallId,
      post_no: postNo,
      ...endOf(departure),
      entry: entered,
    }))
}
