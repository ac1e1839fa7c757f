/**
 * Index from a post's key to a row number: open addressing over one array of rows. The keys themselves stay in the
 * columns that they come from.
 *
 *   hash(gallery, post_no) → cell → cell + 1 → …   a cell is free while its row is -1
 */
import type { ColumnMemory } from './column-memory.js'

const free = -1
const loadMax = 0.5
const cellsMin = 8

export class KeyIndex {
  readonly #gallery: Uint32Array
  readonly #postNo: Float64Array
  readonly #factors: HashFactors
  readonly #rows: Int32Array
  readonly #mask: number

  /** For rows of the columns `gallery` and `postNo`: at most `capacity` of them, none to begin with. */
  constructor(
    gallery: Uint32Array,
    postNo: Float64Array,
    capacity: number,
    factors: HashFactors,
    memory?: ColumnMemory,
  ) {
    const cells = cellsMin << (32 - Math.clz32(capacity / loadMax / cellsMin))
    this.#gallery = gallery
    this.#postNo = postNo
    this.#factors = factors
    this.#rows = (memory?.int32(cells) ?? new Int32Array(cells)).fill(free)
    this.#mask = cells - 1
  }

  /** The row of a key, or -1. */
  find(gallery: number, postNo: number): number {
    let cell = hashKey(gallery, postNo, this.#factors) & this.#mask
    for (;;) {
      const row = this.#rows[cell] as number
      if (row === free || (this.#postNo[row] === postNo && this.#gallery[row] === gallery)) return row
      cell = (cell + 1) & this.#mask
    }
  }

  /** Adds a row whose key is not there yet. */
  add(row: number): void {
    let cell = hashKey(this.#gallery[row] as number, this.#postNo[row] as number, this.#factors) & this.#mask
    while (this.#rows[cell] !== free) cell = (cell + 1) & this.#mask
    this.#rows[cell] = row
  }
}

/** The slots of a pool by their keys. Made when the first slot is asked for: most cycles come in the order of the slots. */
export class SlotIndex {
  readonly #gallery: Uint32Array
  readonly #postNo: Float64Array
  readonly #factors: HashFactors
  readonly #memory: ColumnMemory | undefined
  #index: KeyIndex | null = null

  constructor(gallery: Uint32Array, postNo: Float64Array, factors: HashFactors, memory?: ColumnMemory) {
    this.#gallery = gallery
    this.#postNo = postNo
    this.#factors = factors
    this.#memory = memory
  }

  /** The slot of a key, or -1. */
  find(gallery: number, postNo: number): number {
    this.#index ??= this.#make()
    return this.#index.find(gallery, postNo)
  }

  #make(): KeyIndex {
    const count = this.#gallery.length
    const index = new KeyIndex(this.#gallery, this.#postNo, count, this.#factors, this.#memory)
    for (let slot = 0; slot < count; slot++) index.add(slot)
    return index
  }
}

function hashKey(gallery: number, postNo: number, factors: HashFactors): number {
  return hashWords(gallery, highWord(postNo), postNo >>> 0, factors)
}

/** Of a post number's 53 bits, those above the lower 32. */
export function highWord(postNo: number): number {
  return Math.floor(postNo / 4294967296)
}

/** Odd numbers of 32 bits, by which the words of a key are multiplied. */
export interface HashFactors {
  readonly gallery: number
  readonly high: number
  readonly low: number
}

const usualFactors: HashFactors = { gallery: 0x9e3779b1, high: 0xc2b2ae35, low: 0x85ebca6b }

/** Those of a seed, of 32 bits: who does not know it cannot make up keys that share a hash. */
export function hashFactors(seed: number): HashFactors {
  const factor = (usual: number): number => {
    let mixed = Math.imul(seed ^ usual, 0x2c1b3c6d)
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x297a2d39)
    return (usual ^ mixed ^ (mixed >>> 13)) | 1
  }
  const { gallery, high, low } = usualFactors
  return { gallery: factor(gallery), high: factor(high), low: factor(low) }
}

/** 32 bits that all depend on all of a key: its gallery, and both words of its post number. */
export function hashWords(gallery: number, high: number, low: number, factors: HashFactors): number {
  let hash =
    Math.imul(gallery + 1, factors.gallery) ^ Math.imul(low, factors.low) ^ Math.imul(high, factors.high)
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return (hash ^ (hash >>> 13)) >>> 0
}
