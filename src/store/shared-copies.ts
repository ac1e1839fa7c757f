/**
 * Copies of stored bytes, one for all who use them at a time: a hundred readers of an answer, however slow, cost its size
 * once. One that all have given back is there for the next who asks for it, or its memory serves another: V8 collects
 * garbage every time that some megabytes of buffers are new, and then compiles again what only closures of past cycles
 * held. A copy that is not given back is here for as long as the garbage collector finds it in use.
 */

/**
 * What a WeakRef was made of, the garbage collector leaves alone until the end of the job, which may read one record after
 * another: so many bytes at most, and the record that passes them, are shared in one turn of the event loop.
 */
const turnBytesMax = 32 * 1024 * 1024
/** Answers are mostly read one at a time. */
const restingCountMax = 2
/** Larger ones are rare. */
const restingBytesMax = 8 * 1024 * 1024
/** Answers that follow each other differ by less: memory is mostly long enough for the next one. Shorter ones are not kept. */
const stepBytes = 64 * 1024

interface Loan<Key> {
  readonly key: Key
  readers: number
}

export class SharedCopies<Key> {
  readonly #copies = new Map<Key, WeakRef<Uint8Array>>()
  readonly #loans = new WeakMap<Uint8Array, Loan<Key>>()
  /** Copies that nobody reads, until their key is asked for again or their memory serves another. */
  readonly #resting: { readonly key: Key; readonly copy: Uint8Array }[] = []
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
    const copy = this.#rested(key) ?? this.#copyOf(read())
    if (copy === undefined) return undefined
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
    const { byteLength } = copy.buffer
    if (byteLength < stepBytes || byteLength > restingBytesMax) return
    this.#resting.push({ key: loan.key, copy })
    if (this.#resting.length > restingCountMax) this.#resting.shift()
  }

  /** As a view of its own: who gives the one before back once more takes nothing from its next reader. */
  #rested(key: Key): Uint8Array | undefined {
    const index = this.#resting.findIndex((resting) => resting.key === key)
    const [resting] = index < 0 ? [] : this.#resting.splice(index, 1)
    return resting?.copy.subarray()
  }

  #copyOf(bytes: Uint8Array | undefined): Uint8Array | undefined {
    if (bytes === undefined) return undefined
    const copy = new Uint8Array(this.#memory(bytes.byteLength), 0, bytes.byteLength)
    copy.set(bytes)
    return copy
  }

  /** Of the last copy that is long enough: its bytes are still in the processor's caches. A short one takes no long memory. */
  #memory(bytes: number): ArrayBuffer {
    const index = this.#resting.findLastIndex(
      ({ copy: { buffer } }) => buffer.byteLength >= bytes && buffer.byteLength <= 2 * bytes + stepBytes,
    )
    const [resting] = index < 0 ? [] : this.#resting.splice(index, 1)
    if (resting !== undefined) return resting.copy.buffer as ArrayBuffer
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
