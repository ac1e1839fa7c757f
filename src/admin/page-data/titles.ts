/**
 * Titles of posts, which the pool does not hold: read from the records of the cycles with which the posts entered, once per
 * post, when the page first requests them. Bounded by the posts that are pending: those of others are read again.
 */
import { clipText, nextTurn } from '../../base/index.js'
import type { PoolState } from '../../pool/index.js'
import { readCycleTable } from '../../records/index.js'
import type { ServerSources } from '../../server/index.js'

const titleCharsMax = 300
/** More than the rows of one cycle. */
const rowCountMax = 2 ** 21

/** Where the record of a post is: the position of a cycle, and the row among its candidates. */
export interface Entry {
  readonly position: number
  readonly row: number
}

export class Titles {
  readonly #sources: Pick<ServerSources, 'store' | 'cycles' | 'log'>
  /** Keyed by `keyOf`. */
  #titles = new Map<number, string>()
  #reading: Promise<void> = Promise.resolve()

  constructor(sources: Pick<ServerSources, 'store' | 'cycles' | 'log'>) {
    this.#sources = sources
  }

  /** The title of the post in a slot; null until `read` has found it. */
  of(pool: PoolState, slot: number): string | null {
    return this.at(entryOf(pool, slot))
  }

  /** `of` for a post that may have left. */
  at(entry: Entry): string | null {
    return this.#titles.get(keyOf(entry)) ?? null
  }

  /**
   * Reads the titles of these slots of the current pool. One call at a time reads; the others wait. Rejects with the reason
   * of `gone`, between two records, when that is aborted.
   */
  read(slots: Iterable<number>, gone: AbortSignal): Promise<void> {
    const pool = this.#sources.cycles.pool
    const entries = Array.from(slots, (slot) => entryOf(pool, slot))
    return this.readEntries(entries, gone)
  }

  readEntries(entries: readonly Entry[], gone: AbortSignal): Promise<void> {
    const keys = entries.map(keyOf)
    // A call that failed has told its caller; the next one reads again.
    this.#reading = this.#reading.catch(() => undefined).then(() => this.#read(keys, gone))
    return this.#reading
  }

  async #read(keys: readonly number[], gone: AbortSignal): Promise<void> {
    const { store, log } = this.#sources
    gone.throwIfAborted()
    this.#sweep()
    const missing = keys.filter((key) => !this.#titles.has(key))
    for (const [position, ofCycle] of Map.groupBy(missing, (key) => Math.floor(key / rowCountMax))) {
      // Between two records, the event loop serves requests.
      await nextTurn()
      gone.throwIfAborted()
      if (store.closed) return
      try {
        const titleOf = titlesAt(store, position)
        for (const key of ofCycle) this.#titles.set(key, titleOf(key % rowCountMax))
      } catch (error) {
        // The next request retries.
        log.warn({ err: error, position }, titlesUnreadable)
      }
    }
  }

  /** Removes the posts that have left, once they are the majority. */
  #sweep(): void {
    const pool = this.#sources.cycles.pool
    if (this.#titles.size < 2 * pool.count + 1000) return
    const kept = new Map<number, string>()
    for (let slot = 0; slot < pool.count; slot++) {
      const title = this.of(pool, slot)
      if (title !== null) kept.set(keyOf(entryOf(pool, slot)), title)
    }
    this.#titles = kept
  }
}

export function entryOf({ enteredPosition, enteredRow }: PoolState, slot: number): Entry {
  return { position: enteredPosition[slot]!, row: enteredRow[slot]! }
}

function keyOf({ position, row }: Entry): number {
  return position * rowCountMax + row
}

export const titlesUnreadable = 'titles cannot be read'

/** The titles of the posts that entered with a cycle, by row, clipped. Throws if the store has no such record. */
export function titlesAt(
  store: Pick<ServerSources['store'], 'readRecord'>,
  position: number,
): (row: number) => string {
  const record = store.readRecord(position)
  if (record === undefined) throw new Error(`the store has no record at position ${position}`)
  const { title } = readCycleTable(record, 'candidates')
  return (row) => clipText(title[row] ?? '', titleCharsMax)
}
