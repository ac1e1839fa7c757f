/**
 * Buffers of large bodies, kept for the next ones. V8 counts the memory behind buffers and collects garbage whenever some
 * 64 MiB of it are new: for a cycle of 5 MB every few milliseconds, or for a crowd of larger bodies, that takes a quarter
 * of the event loop's time.
 */

/** Smaller ones are not worth keeping. */
const bytesMin = 256 * 1024
/** As long as bodies come one after the other, so many are in use. */
const restingCountMax = 2
/** All together, while many come at a time: what bodies may take up by default. */
const keptBytesMax = 256 * 1024 * 1024
/** What a crowd has left is let go of when no body has come for so long. */
const restMs = 5000

export class SpareBuffers {
  /** From small to large. */
  #spare: Buffer[] = []
  #bytes = 0
  #inUse = 0
  /** Most that were in use at a time, since no body came for a while. */
  #inUseMost = 0
  #rest: NodeJS.Timeout | undefined

  /** Of all buffers that are kept. */
  get bytes(): number {
    return this.#bytes
  }

  /** A buffer of at least `bytes`, holding anything: the smallest that there is, or a new one. */
  take(bytes: number): Buffer {
    const index = this.#spare.findIndex(({ length }) => length >= bytes)
    const buffer = index < 0 ? Buffer.allocUnsafeSlow(bytes) : this.#remove(index)
    if (buffer.length >= bytesMin) this.#inUseMost = Math.max(this.#inUseMost, ++this.#inUse)
    return buffer
  }

  /**
   * Takes back the buffer that `bytes` stands in, which no one may use any more. Keeps the largest,
   * and no more than were of use: bodies that come one after the other would else go through all of them in turn, and
   * find each out of the processor's caches.
   */
  give(bytes: Uint8Array): void {
    const buffer = Buffer.from(bytes.buffer)
    if (buffer.length < bytesMin) return
    this.#inUse = Math.max(0, this.#inUse - 1)
    const index = this.#spare.findIndex(({ length }) => length >= buffer.length)
    this.#spare.splice(index < 0 ? this.#spare.length : index, 0, buffer)
    this.#bytes += buffer.length
    const countMax = Math.max(restingCountMax, this.#inUseMost)
    while (this.#spare.length > countMax) this.#remove(0)
    while (this.#bytes > keptBytesMax && this.#spare.length > restingCountMax) this.#remove(0)
    this.#restLater()
  }

  #restLater(): void {
    if (this.#spare.length <= restingCountMax) return
    if (this.#rest !== undefined) {
      this.#rest.refresh()
      return
    }
    this.#rest = setTimeout(() => {
      this.#rest = undefined
      this.#inUseMost = this.#inUse
      while (this.#spare.length > restingCountMax) this.#remove(0)
    }, restMs).unref()
  }

  #remove(index: number): Buffer {
    const [buffer] = this.#spare.splice(index, 1) as [Buffer]
    this.#bytes -= buffer.length
    return buffer
  }
}
