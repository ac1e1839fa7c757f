/**
 * The databases of a view, with changes on top that are not in it yet. While a write is applied, it sees its own changes and
 * those of the writes before it in the same batch; all other readers see the view alone. The changes are what the journal
 * stores.
 */
import type { Databases, KeyRange, RecordDatabase } from '../lmdb/databases.js'
import { kinds, type Change, type Kind } from './changes.js'

type Key = number | Uint8Array
interface StagedRow {
  readonly key: Key
  readonly value: Uint8Array | null
}

export class StagedDatabases {
  readonly databases: Databases
  readonly #staged = new Map<Kind, StagedDatabase>()
  readonly #state = { isApplying: false }

  constructor(view: Databases) {
    for (const kind of kinds) this.#staged.set(kind, new StagedDatabase(view[kind], this.#state))
    this.databases = { meta: view.meta, ...Object.fromEntries(this.#staged) } as unknown as Databases
  }

  /** Runs one write. When it throws, its changes are forgotten, and those of the writes before it stay. */
  apply<T>(write: () => T): T {
    const databases = [...this.#staged.values()]
    databases.forEach((database) => database.begin())
    this.#state.isApplying = true
    try {
      return write()
    } catch (error) {
      databases.forEach((database) => database.rollBack())
      throw error
    } finally {
      this.#state.isApplying = false
    }
  }

  /** The changes of all writes since the last call. */
  take(): Change[] {
    return [...this.#staged].flatMap(([kind, database]) =>
      database.take().map(({ key, value }) => ({ kind, key, value })),
    )
  }
}

class StagedDatabase implements RecordDatabase<Key> {
  readonly #view: RecordDatabase<Key>
  readonly #state: { readonly isApplying: boolean }
  /** By order of the key. */
  #rows = new Map<string, StagedRow>()
  /** What the current write has replaced; undefined: nothing. */
  #replaced = new Map<string, StagedRow | undefined>()

  constructor(view: RecordDatabase<Key>, state: { readonly isApplying: boolean }) {
    this.#view = view
    this.#state = state
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

  begin(): void {
    this.#replaced = new Map()
  }

  rollBack(): void {
    for (const [order, row] of this.#replaced)
      if (row === undefined) this.#rows.delete(order)
      else this.#rows.set(order, row)
  }

  take(): StagedRow[] {
    const rows = [...this.#rows.values()]
    this.#rows = new Map()
    this.#replaced = new Map()
    return rows
  }

  #isStaged(): boolean {
    return this.#state.isApplying && this.#rows.size > 0
  }

  #stagedRow(key: Key): StagedRow | undefined {
    return this.#isStaged() ? this.#rows.get(orderOf(key)) : undefined
  }

  #set(key: Key, value: Uint8Array | null): void {
    const order = orderOf(key)
    if (!this.#replaced.has(order)) this.#replaced.set(order, this.#rows.get(order))
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
        const [stagedOrder, { key, value }] = staged[next] as [string, StagedRow]
        if (reverse ? stagedOrder < order : stagedOrder > order) break
        if (value !== null) yield { key, value }
      }
      // A staged row replaces that of the view.
      if (!this.#rows.has(order)) yield row
    }
    for (const [, { key, value }] of staged.slice(next)) if (value !== null) yield { key, value }
  }
}

/** Sorts as LMDB sorts the key. */
function orderOf(key: Key): string {
  return typeof key === 'number'
    ? String.fromCharCode(key >>> 16, key & 0xffff)
    : Buffer.from(key).toString('latin1')
}
