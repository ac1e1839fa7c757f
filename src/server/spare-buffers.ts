/**
 * Buffers of large bodies, kept for the next ones: a cycle of 5 MB every few milliseconds would otherwise have the
 * garbage collector run for a quarter of the time.
 */

/** Smaller ones are not worth keeping. */
const bytesMin = 256 * 1024
const countMax = 2

export class SpareBuffers {
  #spare: Buffer[] = []

  /** A buffer of at least `bytes`, holding anything. */
  take(bytes: number): Buffer {
    const index = this.#spare.findIndex((buffer) => buffer.length >= bytes)
    return index < 0 ? Buffer.allocUnsafeSlow(bytes) : (this.#spare.splice(index, 1)[0] as Buffer)
  }

  /** Takes back the buffer that `bytes` stands in, which no one may use any more. Keeps the largest. */
  give(bytes: Uint8Array): void {
    if (bytes.buffer.byteLength < bytesMin) return
    this.#spare.push(Buffer.from(bytes.buffer))
    if (this.#spare.length <= countMax) return
    this.#spare.sort((a, b) => b.length - a.length)
    this.#spare.length = countMax
  }
}
