/**
 * Memory for the columns of one state of the pool and of the plan that makes it, all in one block, given out from its
 * front. Two blocks take turns: the one of the state before last serves the next plan, so that a cycle of 5,000 posts
 * leaves no megabytes behind for the garbage collector.
 *
 *   | kept slots | … | gallery | post_no | … | latest.views | … | snapshot.upimg_height | free |
 */

const blockBytesMin = 64 * 1024
/** A line of the cache: columns are copied whole, which is fastest from there. */
const alignment = 64

/** Columns that are given out hold anything. */
export class ColumnMemory {
  #block: ArrayBuffer
  #used = 0
  /** What did not fit; the next block is made for all of it. */
  #missing = 0

  constructor(bytes: number = blockBytesMin) {
    this.#block = new ArrayBuffer(bytes)
  }

  /** Takes back all that was given out. Columns given out before must not be used any more. */
  reset(): void {
    if (this.#missing > 0) this.#block = new ArrayBuffer(Math.ceil((this.#used + this.#missing) * 1.25))
    this.#used = 0
    this.#missing = 0
  }

  float64(count: number): Float64Array {
    const offset = this.#place(count * 8)
    return offset < 0 ? new Float64Array(count) : new Float64Array(this.#block, offset, count)
  }

  uint32(count: number): Uint32Array {
    const offset = this.#place(count * 4)
    return offset < 0 ? new Uint32Array(count) : new Uint32Array(this.#block, offset, count)
  }

  int32(count: number): Int32Array {
    const offset = this.#place(count * 4)
    return offset < 0 ? new Int32Array(count) : new Int32Array(this.#block, offset, count)
  }

  uint8(count: number): Uint8Array {
    const offset = this.#place(count)
    return offset < 0 ? new Uint8Array(count) : new Uint8Array(this.#block, offset, count)
  }

  /** Where the next `bytes` go in the block; -1 where it is full. */
  #place(bytes: number): number {
    const size = Math.ceil(bytes / alignment) * alignment
    const offset = this.#used
    if (offset + size > this.#block.byteLength) {
      this.#missing += size
      return -1
    }
    this.#used += size
    return offset
  }
}
