/**
 * The store in memory: for the warm-up, and for tests and simulations, which keep its contents and interrupt its writes. Its databases are
 * maps; the records in them, and the rules by which they change, are those of the store on LMDB.
 */
import {
  applyChanges,
  createRecordStore,
  databaseNames,
  orderOf,
  WriteQueue,
  type Change,
  type DatabaseName,
  type KeyOf,
  type KeyRange,
  type RecordDatabase,
  type RecordStoreParts,
} from '../records/index.js'
import type { Store } from '../store.js'

/** Made by `createMemoryContents`. */
export type MemoryContents = { readonly [Name in DatabaseName]: MemoryDatabase<KeyOf<Name>> }

export function createMemoryContents(): MemoryContents {
  return Object.fromEntries(
    databaseNames.map((name) => [name, new MemoryDatabase()]),
  ) as unknown as MemoryContents
}

export function createMemoryStore(): Store {
  return createRecordStore(memoryParts(createMemoryContents()))
}

/** `beforeCommit`: what it throws, the writes reject with, and nothing is stored. */
export function memoryParts(
  contents: MemoryContents,
  beforeCommit: (changes: readonly Change<DatabaseName>[]) => void | Promise<void> = () => undefined,
): RecordStoreParts {
  const writes = new WriteQueue({
    databases: contents,
    names: databaseNames,
    // One write at a time.
    batchBytesMax: 0,
    commit: async (changes) => {
      await beforeCommit(changes)
      applyChanges(contents, changes)
    },
  })
  return {
    databases: writes.databases,
    writes,
    isHealthy: () => writes.isHealthy,
    close: () => writes.close(),
  }
}

/** A database in memory. */
export class MemoryDatabase<Key extends number | Uint8Array> implements RecordDatabase<Key> {
  readonly #rows = new Map<string, { readonly key: Key; readonly value: Uint8Array }>()
  /** The order of the rows, ascending; null after a change of them. */
  #order: string[] | null = null

  get size(): number {
    return this.#rows.size
  }

  getBinary(key: Key): Uint8Array | undefined {
    return this.#rows.get(orderOf(key))?.value.slice()
  }

  doesExist(key: Key): boolean {
    return this.#rows.has(orderOf(key))
  }

  put(key: Key, record: Uint8Array): void {
    const order = orderOf(key)
    if (!this.#rows.has(order)) {
      if (this.#order !== null && order > (this.#order.at(-1) ?? '')) this.#order.push(order)
      else this.#order = null
    }
    const copy = typeof key === 'number' ? key : (Uint8Array.from(key) as Key)
    this.#rows.set(order, { key: copy, value: Uint8Array.from(record) })
  }

  remove(key: Key): void {
    if (this.#rows.delete(orderOf(key))) this.#order = null
  }

  getKeys(range: KeyRange<Key>): Key[] {
    return this.getRange(range).map(({ key }) => key)
  }

  getRange({ start, end, limit, reverse = false }: KeyRange<Key>): { key: Key; value: Uint8Array }[] {
    this.#order ??= [...this.#rows.keys()].sort((a, b) => (a < b ? -1 : 1))
    const from = start === undefined ? 0 : lowerBound(this.#order, orderOf(start))
    const to = end === undefined ? this.#order.length : lowerBound(this.#order, orderOf(end))
    const count = Math.max(0, Math.min(to - from, limit ?? Infinity))
    const found = reverse
      ? this.#order.slice(to - count, to).reverse()
      : this.#order.slice(from, from + count)
    return found.map((order) => {
      const { key, value } = this.#rows.get(order) as { key: Key; value: Uint8Array }
      return { key, value: value.slice() }
    })
  }
}

/** The index of the first element that is `wanted` or more. */
function lowerBound(order: readonly string[], wanted: string): number {
  let [low, high] = [0, order.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (order[middle]! < wanted) low = middle + 1
    else high = middle
  }
  return low
}
