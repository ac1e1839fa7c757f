/**
 * Index from a post's key to a row number: open addressing over typed arrays, no object a key.
 *
 *   hash(gallery, post_no) → cell → cell + 1 → …   a cell is free while its row is -1
 */

import type { ColumnMemory } from './column-memory.js'

const free = -1
const loadMax = 0.5

export class KeyIndex {
  #gallery: Uint32Array
  #postNo: Float64Array
  #row: Int32Array
  #mask: number
  #count = 0

  /** Room for `capacity` keys; grows by itself past that. */
  constructor(capacity: number, memory?: ColumnMemory) {
    const cells = 2 ** Math.ceil(Math.log2(Math.max(8, capacity / loadMax)))
    this.#gallery = memory?.uint32(cells) ?? new Uint32Array(cells)
    this.#postNo = memory?.float64(cells) ?? new Float64Array(cells)
    this.#row = (memory?.int32(cells) ?? new Int32Array(cells)).fill(free)
    this.#mask = cells - 1
  }

  get count(): number {
    return this.#count
  }

  /** The row of a key, or -1. */
  find(gallery: number, postNo: number): number {
    return this.#row[this.#cell(gallery, postNo)] as number
  }

  /** Adds a key or gives it another row. */
  set(gallery: number, postNo: number, row: number): void {
    const cell = this.#cell(gallery, postNo)
    if (this.#row[cell] === free) {
      this.#count++
      this.#gallery[cell] = gallery
      this.#postNo[cell] = postNo
    }
    this.#row[cell] = row
    if (this.#count > (this.#mask + 1) * loadMax) this.#grow()
  }

  #cell(gallery: number, postNo: number): number {
    let cell = hashKey(gallery, postNo) & this.#mask
    while (this.#row[cell] !== free && (this.#gallery[cell] !== gallery || this.#postNo[cell] !== postNo)) {
      cell = (cell + 1) & this.#mask
    }
    return cell
  }

  #grow(): void {
    const bigger = new KeyIndex((this.#mask + 1) * loadMax * 2)
    for (let cell = 0; cell <= this.#mask; cell++) {
      const row = this.#row[cell] as number
      if (row !== free) bigger.set(this.#gallery[cell] as number, this.#postNo[cell] as number, row)
    }
    this.#gallery = bigger.#gallery
    this.#postNo = bigger.#postNo
    this.#row = bigger.#row
    this.#mask = bigger.#mask
  }
}

function hashKey(gallery: number, postNo: number): number {
  const high = Math.floor(postNo / 4294967296)
  let hash =
    Math.imul(gallery + 1, 0x9e3779b1) ^ Math.imul(postNo >>> 0, 0x85ebca6b) ^ Math.imul(high, 0xc2b2ae35)
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return (hash ^ (hash >>> 13)) >>> 0
}
