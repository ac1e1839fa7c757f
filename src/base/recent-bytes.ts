/**
 * Bytes that arrived a short time ago, and what is known of them. Clients that retry send the same bytes again: to compare
 * them takes a small part of the time that their hash takes.
 */
import { mebibyte } from './units.js'

/** Copying more would keep the event loop from other work. */
const copiedBytesMax = mebibyte

export class RecentBytes<Value> {
  readonly #bytesMax: number
  /** One entry per length: later bytes of the same length replace it. The one that was found last is last. */
  readonly #entries = new Map<number, { readonly bytes: Uint8Array; readonly value: Value }>()
  #bytes = 0

  /** `bytesMax` limits all copies together. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** The bytes of this length, which do not change: others need not be copied to be compared with them. */
  ofLength(length: number): Uint8Array | undefined {
    return this.#entries.get(length)?.bytes
  }

  /** What is known of exactly these bytes. */
  find(bytes: Uint8Array): Value | undefined {
    const entry = this.#entries.get(bytes.length)
    if (entry === undefined) return undefined
    if (entry.bytes !== bytes && Buffer.compare(entry.bytes, bytes) !== 0) return undefined
    this.#entries.delete(bytes.length)
    this.#entries.set(bytes.length, entry)
    return entry.value
  }

  /** Copies the bytes. */
  keep(bytes: Uint8Array, value: Value): void {
    const { length } = bytes
    if (length > Math.min(copiedBytesMax, this.#bytesMax)) return
    if (this.#entries.delete(length)) this.#bytes -= length
    this.#entries.set(length, { bytes: Uint8Array.from(bytes), value })
    this.#bytes += length
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#bytesMax) break
      this.#entries.delete(oldest)
      this.#bytes -= oldest
    }
  }
}
