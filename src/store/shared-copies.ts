/**
 * Copies of stored bytes, one for all who use them at a time: a hundred readers of an answer, however slow, cost its size
 * once. Nobody says when he is done: a copy is here for as long as the garbage collector finds it in use.
 */

export class SharedCopies<Key> {
  readonly #copies = new Map<Key, WeakRef<Uint8Array>>()
  readonly #collected = new FinalizationRegistry<Key>((key) => {
    if (this.#copies.get(key)?.deref() === undefined) this.#copies.delete(key)
  })

  /** Copies in use, and those of which the garbage collector has not told yet. */
  get size(): number {
    return this.#copies.size
  }

  /** The copy of `key` that someone has, or what `read` gives. For bytes that never change. */
  of(key: Key, read: () => Uint8Array | undefined): Uint8Array | undefined {
    const shared = this.#copies.get(key)?.deref()
    if (shared !== undefined) return shared
    const copy = read()
    if (copy !== undefined) {
      this.#copies.set(key, new WeakRef(copy))
      this.#collected.register(copy, key)
    }
    return copy
  }
}
