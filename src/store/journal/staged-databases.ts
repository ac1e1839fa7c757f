/**
 * The databases of a view, with changes on top that are not in it yet. While a write is applied, it sees its own changes and
 * those of the writes before it in the same batch; all other readers see the view alone. The changes are what the journal
 * stores.
 */
import { assert } from '../../contract/index.js'
import {
  kinds,
  orderOf,
  type Databases,
  type KeyRange,
  type Kind,
  type RecordDatabase,
} from '../records/index.js'
import type { Change } from './changes.js'

type Key = number | Uint8Array
type StagedRow = Omit<Change, 'kind'>

interface Progress {
  /** Called from the last to the first, these revert the write in progress; null: none is in progress. */
  undo: (() => void)[] | null
}

export class StagedDatabases {
  readonly databases: Databases
  readonly #staged = new Map<Kind, StagedDatabase>()
  readonly #progress: Progress = { undo: null }

  constructor(view: Databases) {
    for (const kind of kinds) this.#staged.set(kind, new StagedDatabase(view[kind], this.#progress))
    this.databases = { meta: view.meta, ...Object.fromEntries(this.#staged) } as unknown as Databases
  }

  /** Runs one write. When it throws, its changes are forgotten, and those of the writes before it stay. */
  apply<T>(write: () => T): T {
    assert(this.#progress.undo === null, 'one write is applied at a time')
    const undo: (() => void)[] = []
    this.#progress.undo = undo
    try {
      return write()
    } catch (error) {
      for (const revert of undo.reverse()) revert()
      throw error
    } finally {
      this.#progress.undo = null
    }
  }

  /** The changes of all writes since the last call. */
  take(): Change[] {
    assert(this.#progress.undo === null, 'no write is in progress when the changes are taken')
    return [...this.#staged].flatMap(([kind, database]) => database.take().map((row) => ({ kind, ...row })))
  }
}

class StagedDatabase implements RecordDatabase<Key> {
  readonly #view: RecordDatabase<Key>
  readonly #progress: Progress
  /** Keyed by `orderOf` the key. */
  readonly #rows = new Map<string, StagedRow>()

  constructor(view: RecordDatabase<Key>, progress: Progress) {
    this.#view = view
    this.#progress = progress
  }

  getBinary(key: Key): Uint8Array | undefined {
    const row = this.#stagedRow(key)
    return row === undefined ? this.#view.getBinary(key) : row.value?.slice()
  }

  doesExist(key: Key): boolean {
    const row = this.#stagedRow(key)
    return row === undefined ? this.#view.doesExist(key) : row.value !== null
  }

  putSync(key: Key, record: Uint8Array): void {
    // A copy: the caller may reuse its bytes before the journal has them.
    this.#set(key, Uint8Array.from(record))
  }

  removeSync(key: Key): void {
    if (this.doesExist(key)) this.#set(key, null)
  }

  *getKeys(range: KeyRange<Key>): Iterable<Key> {
    if (!this.#isStaged()) yield* this.#view.getKeys(range)
    else for (const { key } of this.getRange(range)) yield key
  }

  *getRange(range: KeyRange<Key>): Iterable<{ readonly key: Key; readonly value: Uint8Array }> {
    if (!this.#isStaged()) {
      yield* this.#view.getRange(range)
      return
    }
    const { limit = Infinity, ...bounds } = range
    let count = 0
    for (const row of this.#merged(bounds)) {
      if (++count > limit) return
      yield row
    }
  }

  take(): StagedRow[] {
    const rows = [...this.#rows.values()]
    this.#rows.clear()
    return rows
  }

  #isStaged(): boolean {
    return this.#progress.undo !== null && this.#rows.size > 0
  }

  #stagedRow(key: Key): StagedRow | undefined {
    return this.#isStaged() ? this.#rows.get(orderOf(key)) : undefined
  }

  #set(key: Key, value: Uint8Array | null): void {
    const order = orderOf(key)
    const before = this.#rows.get(order)
    this.#progress.undo?.push(() => {
      if (before === undefined) this.#rows.delete(order)
      else this.#rows.set(order, before)
    })
    this.#rows.set(order, { key: typeof key === 'number' ? key : Uint8Array.from(key), value })
  }

  /** The rows of a range, those of the view and the staged ones, in order. */
  *#merged({ reverse = false, ...bounds }: KeyRange<Key>): Iterable<{ key: Key; value: Uint8Array }> {
    const { start, end } = bounds
    const from = start === undefined ? null : orderOf(start)
    const to = end === undefined ? null : orderOf(end)
    const staged = [...this.#rows]
      .filter(([order]) => (from === null || order >= from) && (to === null || order < to))
      .sort(([a], [b]) => (a < b === reverse ? 1 : -1))
    let next = 0
    for (const row of this.#view.getRange({ ...bounds, reverse })) {
      const order = orderOf(row.key)
      for (; next < staged.length; next++) {
        const [stagedOrder, { key, value }] = staged[next]!
        if (reverse ? stagedOrder < order : stagedOrder > order) break
        if (value !== null) yield { key, value }
      }
      // A staged row replaces that of the view.
      if (!this.#rows.has(order)) yield row
    }
    for (const [, { key, value }] of staged.slice(next)) if (value !== null) yield { key, value }
  }
}
