/**
 * Memory for the records of one cycle, kept for the next: a cycle takes up to a few megabytes, and memory that is new
 * each time costs page faults and a garbage collection every few cycles.
 */
import type { Allocate } from './record.js'

/** More than a full cycle takes. Bytes beyond are allocated anew. */
const keptBytesMax = 8 * 1024 * 1024
const alignment = 8

export class RecordSpace {
  #kept = new Uint8Array(0)
  /** Bytes asked for since the last `clear`, those that did not fit included. */
  #taken = 0

  /** Bytes that are the caller's until `clear`. */
  readonly allocate: Allocate = (bytes) => {
    const start = this.#taken
    this.#taken += Math.ceil(bytes / alignment) * alignment
    return this.#taken <= this.#kept.length
      ? this.#kept.subarray(start, start + bytes)
      : new Uint8Array(bytes)
  }

  /** Takes all bytes back, and makes room for a write of the same size and a little more. */
  clear(): void {
    const needed = this.#taken
    this.#taken = 0
    if (needed > this.#kept.length && needed <= keptBytesMax)
      this.#kept = new Uint8Array(Math.min(keptBytesMax, needed + (needed >> 2)))
  }
}
