/**
 * Copies of stored bytes, one for all who use them at a time: a hundred readers of an answer, however slow, cost its size
 * once. The memory of one that all have given back serves the next: V8 collects garbage every time that some megabytes of
 * buffers are new, and then compiles again what only closures of past cycles held. A copy that is not given back is here
 * for as long as the garbage collector finds it in use.
 */

/**
 * What a WeakRef was made of, the garbage collector leaves alone until the end of the job, which may read one record after
 * another: so many bytes at most, and the record that passes them, are shared in one turn of the event loop.
 */
const turnBytesMax = 32 * 1024 * 1024
/** Answers are mostly read one at a time. */
const spareCountMax = 2
/** Larger ones are rare. */
const spareBytesMax = 8 * 1024 * 1024
/** Answers that follow each other differ by less: memory is mostly long enough for the next one. Shorter ones are not kept. */
const stepBytes = 64 * 1024

interface Loan<Key> {
  readonly key: Key
  readers: number
}

export class SharedCopies<Key> {
  readonly #copies = new Map<Key, WeakRef<Uint8Array>>()
  readonly #loans = new WeakMap<Uint8Array, Loan<Key>>()
  /** Memory of copies that nobody reads. */
  readonly #spare: ArrayBuffer[] = []
  #turnBytes = 0
  readonly #collected = new FinalizationRegistry<Key>((key) => {
    if (this.#copies.get(key)?.deref() === undefined) this.#copies.delete(key)
  })

  /** Copies in use, and those of which the garbage collector has not told yet. */
  get size(): number {
    return this.#copies.size
  }

  /**
   * The copy of `key` that someone has, or one of what `read` gives, which is read at once. For bytes that never change.
   * One caller more has it, until `giveBack`.
   */
  of(key: Key, read: () => Uint8Array | undefined): Uint8Array | undefined {
    const shared = this.#copies.get(key)?.deref()
    const loan = shared && this.#loans.get(shared)
    if (loan !== undefined) {
      loan.readers++
      return shared
    }
    const bytes = read()
    if (bytes === undefined) return undefined
    const copy = new Uint8Array(this.#memory(bytes.byteLength), 0, bytes.byteLength)
    copy.set(bytes)
    this.#loans.set(copy, { key, readers: 1 })
    if (this.#turnBytes < turnBytesMax) this.#share(key, copy)
    return copy
  }

  /** One of those who have the copy reads it no more. Bytes that are no copy of these are left alone. */
  giveBack(copy: Uint8Array): void {
    const loan = this.#loans.get(copy)
    if (loan === undefined || --loan.readers > 0) return
    this.#loans.delete(copy)
    if (this.#copies.get(loan.key)?.deref() === copy) this.#copies.delete(loan.key)
    const memory = copy.buffer as ArrayBuffer
    if (memory.byteLength < stepBytes || memory.byteLength > spareBytesMax) return
    this.#spare.push(memory)
    if (this.#spare.length > spareCountMax) this.#spare.shift()
  }

  /** The last that fits, whose bytes are still in the processor's caches. A short copy does not keep long memory from others. */
  #memory(bytes: number): ArrayBuffer {
    const index = this.#spare.findLastIndex(
      ({ byteLength }) => byteLength >= bytes && byteLength <= 2 * bytes + stepBytes,
    )
    const [spare] = index < 0 ? [] : this.#spare.splice(index, 1)
    if (spare !== undefined) return spare
    const room = bytes < stepBytes ? bytes : Math.ceil(bytes / stepBytes) * stepBytes
    return Buffer.allocUnsafeSlow(room).buffer
  }

  #share(key: Key, copy: Uint8Array): void {
    if (this.#turnBytes === 0) setImmediate(() => (this.#turnBytes = 0))
    this.#turnBytes += copy.buffer.byteLength
    this.#copies.set(key, new WeakRef(copy))
    this.#collected.register(copy, key)
  }
}
