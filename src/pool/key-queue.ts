/**
 * Keys of posts in the order that they came, first in, first out: 12 bytes each, in pages that are made when the last
 * one is full and let go when the first one is used up.
 *
 *   row = page × 4096 + place      a row keeps its number; that of a page is used again after it
 *   page  | gallery, high, low | gallery, high, low | …      a key in one place, for it is looked up alone
 */
import { hashWords, highWord, type HashFactors } from './key-index.js'

const placeBits = 12
const pageRows = 1 << placeBits
const placeMask = pageRows - 1
const words = 3
/** Gallery of a key that was blanked. */
const blank = 0xffffffff

export class KeyQueue {
  /** By number; null where one was let go. */
  readonly #pages: (Uint32Array | null)[] = []
  /** Numbers of pages: those in use, in order, and those to be used again. */
  readonly #order: number[] = []
  readonly #unused: number[] = []
  /** Place of the oldest key in the first page, and of the next one to come in the last. */
  #first = 0
  #next = pageRows

  /** Bytes of the pages. */
  get bytes(): number {
    return this.#pages.reduce((bytes, page) => bytes + (page?.byteLength ?? 0), 0)
  }

  /** The row of the oldest key. There must be one. */
  get oldest(): number {
    return ((this.#order[0] as number) << placeBits) | this.#first
  }

  /** Adds a key and gives its row. `gallery` is below 2^32 - 1. */
  add(gallery: number, postNo: number): number {
    if (this.#next === pageRows) this.#addPage()
    const row = ((this.#order.at(-1) as number) << placeBits) | this.#next++
    const page = this.#page(row)
    const at = (row & placeMask) * words
    page[at] = gallery
    page[at + 1] = highWord(postNo)
    page[at + 2] = postNo >>> 0
    return row
  }

  /** Takes out the oldest key. There must be one. */
  dropOldest(): void {
    const end = this.#order.length > 1 ? pageRows : this.#next
    if (++this.#first < end) return
    this.#first = 0
    if (end === pageRows) this.#dropPage()
    else this.#next = 0
  }

  gallery(row: number): number {
    return this.#page(row)[(row & placeMask) * words] as number
  }

  hash(row: number, factors: HashFactors): number {
    const page = this.#page(row)
    const at = (row & placeMask) * words
    return hashWords(page[at] as number, page[at + 1] as number, page[at + 2] as number, factors)
  }

  /** Whether the row has this key. */
  holds(row: number, gallery: number, high: number, low: number): boolean {
    const page = this.#page(row)
    const at = (row & placeMask) * words
    return page[at + 2] === low && page[at] === gallery && page[at + 1] === high
  }

  /** Makes a row hold no key. It keeps its place in the queue. */
  blank(row: number): void {
    this.#page(row)[(row & placeMask) * words] = blank
  }

  isBlank(row: number): boolean {
    return this.gallery(row) === blank
  }

  #page(row: number): Uint32Array {
    return this.#pages[row >> placeBits] as Uint32Array
  }

  #addPage(): void {
    const number = this.#unused.pop() ?? this.#pages.length
    this.#pages[number] = new Uint32Array(pageRows * words)
    this.#order.push(number)
    this.#next = 0
  }

  #dropPage(): void {
    const number = this.#order.shift() as number
    this.#pages[number] = null
    this.#unused.push(number)
  }
}
