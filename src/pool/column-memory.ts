/**
 * Memory for the columns of one state of the pool, all in one block, given out from its front. Two blocks take turns:
 * the one of the state before last serves the next plan, so that a cycle of 5,000 posts leaves no megabytes behind for
 * the garbage collector.
 *
 *   | gallery | post_no | … | latest.views | … | snapshot.upimg_height | free |
 */
import type { Column } from './columns.js'

const blockBytesMin = 64 * 1024
const alignment = 8

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

  /** A column of `count` rows of the kind of `like`. It holds anything. */
  allocateLike<Kind extends Column>(like: Kind, count: number): Kind {
    const column: Column =
      like instanceof Float64Array
        ? this.float64(count)
        : like instanceof Uint32Array
          ? this.uint32(count)
          : new Uint8Array(...this.#place(count), count)
    return column as Kind
  }

  float64(count: number): Float64Array {
    return new Float64Array(...this.#place(count * 8), count)
  }

  uint32(count: number): Uint32Array {
    return new Uint32Array(...this.#place(count * 4), count)
  }

  int32(count: number): Int32Array {
    return new Int32Array(...this.#place(count * 4), count)
  }

  /** Where the next `bytes` go: into the block, or beside it where it is full. */
  #place(bytes: number): [buffer: ArrayBuffer, offset: number] {
    const size = Math.ceil(bytes / alignment) * alignment
    const offset = this.#used
    if (offset + size > this.#block.byteLength) {
      this.#missing += size
      return [new ArrayBuffer(size), 0]
    }
    this.#used += size
    return [this.#block, offset]
  }
}
