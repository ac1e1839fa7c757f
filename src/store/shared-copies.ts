/**
 * Copies of stored bytes, one for all who use them at a time: a hundred readers of an answer, however slow, cost its size
 * once. Nobody says when he is done: a copy is here for as long as the garbage collector finds it in use.
 */

/**
 * What a WeakRef was made of, the garbage collector leaves alone until the end of the job, which may read one record after
 * another: so many bytes at most, and the record that passes them, are shared in one turn of the event loop.
 */
const turnBytesMax = 32 * 1024 * 1024

export class SharedCopies<Key> {
  readonly #copies = new Map<Key, WeakRef<Uint8Array>>()
  #turnBytes = 0
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
    if (copy !== undefined && this.#turnBytes < turnBytesMax) this.#share(key, copy)
    return copy
  }

  #share(key: Key, copy: Uint8Array): void {
    if (this.#turnBytes === 0) setImmediate(() => (this.#turnBytes = 0))
    this.#turnBytes += copy.byteLength
    this.#copies.set(key, new WeakRef(copy))
    this.#collected.register(copy, key)
  }
}
