/**
 * Databases with changes on top that are not in them yet. While a write is applied, it sees its own changes and those of the
 * writes before it in the same batch; all other readers see the databases alone. The changes are what is committed.
 */
import { assert } from '../../contract/index.js'
import type { Change } from './changes.js'
import {
  orderOf,
  type DatabaseName,
  type Databases,
  type KeyRange,
  type RecordDatabase,
} from './databases.js'

type Key = number | Uint8Array
type StagedRow = Omit<Change, 'kind'>

interface StoredRow {
  readonly key: Key
  readonly value: Uint8Array
}

interface Progress {
  /** Called from the last to the first, these revert the write in progress; null: none is in progress. */
  undo: (() => void)[] | null
}

export interface AppliedWrite<Value> {
  readonly value: Value
  readonly hasChanged: boolean
}

export class StagedDatabases<Name extends DatabaseName> {
  readonly databases: Databases
  readonly #staged = new Map<Name, StagedDatabase>()
  readonly #progress: Progress = { undo: null }

  /** `names`: those that writes may change. */
  constructor(base: Databases, names: readonly Name[]) {
    for (const name of names) this.#staged.set(name, new StagedDatabase(base[name], this.#progress))
    this.databases = { ...base, ...Object.fromEntries(this.#staged) }
  }

  /** Runs one write. When it throws, its changes are forgotten, and those of the writes before it stay. */
  apply<T>(write: () => T): AppliedWrite<T> {
    assert(this.#progress.undo === null, 'one write is applied at a time')
    const undo: (() => void)[] = []
    this.#progress.undo = undo
    try {
      return { value: write(), hasChanged: undo.length > 0 }
    } catch (error) {
      for (const revert of undo.reverse()) revert()
      throw error
    } finally {
      this.#progress.undo = null
    }
  }

  /** The changes of all writes since the last call. */
  take(): Change<Name>[] {
    assert(this.#progress.undo === null, 'no write is in progress when the changes are taken')
    return [...this.#staged].flatMap(([kind, database]) => database.take().map((row) => ({ kind, ...row })))
  }
}

class StagedDatabase implements RecordDatabase<Key> {
  readonly #base: RecordDatabase<Key>
  readonly #progress: Progress
  /** Keyed by `orderOf` the key. */
  readonly #rows = new Map<string, StagedRow>()

  constructor(base: RecordDatabase<Key>, progress: Progress) {
    this.#base = base
    this.#progress = progress
  }

  getBinary(key: Key): Uint8Array | undefined {
    const row = this.#stagedRow(key)
    return row === undefined ? this.#base.getBinary(key) : row.value?.slice()
  }

  doesExist(key: Key): boolean {
    const row = this.#stagedRow(key)
    return row === undefined ? this.#base.doesExist(key) : row.value !== null
  }

  put(key: Key, record: Uint8Array): void {
    this.#set(key, record)
  }

  remove(key: Key): void {
    if (this.doesExist(key)) this.#set(key, null)
  }

  *getKeys(range: KeyRange<Key>): Iterable<Key> {
    if (!this.#isStaged()) yield* this.#base.getKeys(range)
    else for (const { key } of this.#merged(range, (bounds) => keyRows(this.#base.getKeys(bounds)))) yield key
  }

  *getRange(range: KeyRange<Key>): Iterable<StoredRow> {
    if (!this.#isStaged()) yield* this.#base.getRange(range)
    else yield* this.#merged(range, (bounds) => this.#base.getRange(bounds))
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
    const { undo } = this.#progress
    assert(undo !== null, 'records change within a write')
    const order = orderOf(key)
    const before = this.#rows.get(order)
    undo.push(() => {
      if (before === undefined) this.#rows.delete(order)
      else this.#rows.set(order, before)
    })
    this.#rows.set(order, { key: typeof key === 'number' ? key : Uint8Array.from(key), value })
  }

  /** The rows of a range, those that `read` finds in the base and the staged ones, in order. */
  *#merged<Row extends { readonly key: Key }>(
    { limit = Infinity, ...bounds }: KeyRange<Key>,
    read: (bounds: KeyRange<Key>) => Iterable<Row>,
  ): Iterable<Row | StoredRow> {
    let count = 0
    for (const row of this.#mergedRows(bounds, read(bounds))) {
      if (++count > limit) return
      yield row
    }
  }

  *#mergedRows<Row extends { readonly key: Key }>(
    { start, end, reverse = false }: KeyRange<Key>,
    rows: Iterable<Row>,
  ): Iterable<Row | StoredRow> {
    const from = start === undefined ? null : orderOf(start)
    const to = end === undefined ? null : orderOf(end)
    const staged = [...this.#rows]
      .filter(([order]) => (from === null || order >= from) && (to === null || order < to))
      .sort(([a], [b]) => (a < b === reverse ? 1 : -1))
    let next = 0
    for (const row of rows) {
      const order = orderOf(row.key)
      for (; next < staged.length; next++) {
        const [stagedOrder, { key, value }] = staged[next]!
        if (reverse ? stagedOrder < order : stagedOrder > order) break
        if (value !== null) yield { key, value }
      }
      // A staged row replaces that of the base.
      if (!this.#rows.has(order)) yield row
    }
    for (const [, { key, value }] of staged.slice(next)) if (value !== null) yield { key, value }
  }
}

function* keyRows(keys: Iterable<Key>): Iterable<{ readonly key: Key }> {
  for (const key of keys) yield { key }
}
