/**
 * Index from a post's key to a row of a queue, for keys that come and go for ever. A `KeyIndex` is made at once and used
 * for a cycle; this one grows, shrinks and lets keys be removed. It is split in parts, by the hash, so that no call has
 * to place all keys anew: of a million, a part holds 4,000.
 *
 *   hash(gallery, post_no) → part (upper 8 bits) → cell → cell + 1 → …   a cell is free while its row is -1
 *
 * A removed key leaves no mark behind: the cells after it move up. So look-ups stay as short as the load allows.
 */
import { hashFactors, hashWords, highWord, type HashFactors } from './key-index.js'
import type { KeyQueue } from './key-queue.js'

const free = -1
const partBits = 8
const partCount = 1 << partBits
const partShift = 32 - partBits
const cellsMin = 8
/** Parts fill evenly. Each grows at a load of its own, between these, so that they do not all grow at one time. */
const growLoadMin = 0.6
const growLoadMax = 0.8
/** By how much the load at which a part shrinks is lower: far enough that keys which come and go do not undo it. */
const shrinkRatio = 3
const stepsMax = 255

interface Part {
  /** The row that stands in a cell, or `free`. */
  cells: Int32Array
  /** How far that is behind the cell of its hash, `stepsMax` for more: to move it up without a look at its key. */
  steps: Uint8Array
  count: number
  readonly growLoad: number
}

export class KeyTable {
  readonly #keys: KeyQueue
  readonly #factors: HashFactors
  readonly #parts: readonly Part[] = Array.from({ length: partCount }, (_, part) => ({
    ...emptyCells(cellsMin),
    count: 0,
    growLoad: growLoadMin + (growLoadMax - growLoadMin) * (part / partCount),
  }))

  /** `seed`: of 32 bits; it decides where keys stand, and nothing that can be seen from outside. */
  constructor(keys: KeyQueue, seed: number) {
    this.#keys = keys
    this.#factors = hashFactors(seed)
  }

  /** Bytes of the cells. */
  get bytes(): number {
    return this.#parts.reduce((bytes, { cells, steps }) => bytes + cells.byteLength + steps.byteLength, 0)
  }

  /** The row of a key, or -1. */
  find(gallery: number, postNo: number): number {
    const high = highWord(postNo)
    const low = postNo >>> 0
    const hash = hashWords(gallery, high, low, this.#factors)
    const { cells } = this.#partOf(hash)
    const mask = cells.length - 1
    let cell = hash & mask
    for (;;) {
      const row = cells[cell] as number
      if (row === free) return -1
      if (this.#keys.holds(row, gallery, high, low)) return row
      cell = (cell + 1) & mask
    }
  }

  /** Adds a row whose key is not there yet. */
  add(row: number): void {
    const hash = this.#keys.hash(row, this.#factors)
    const part = this.#partOf(hash)
    place(part, hash, row)
    part.count++
    const { length } = part.cells
    if (part.count > length * part.growLoad) this.#resize(part, length * 2)
  }

  /** Removes a row that was added. */
  remove(row: number): void {
    const hash = this.#keys.hash(row, this.#factors)
    const part = this.#partOf(hash)
    const { length } = part.cells
    let cell = hash & (length - 1)
    while (part.cells[cell] !== row) cell = (cell + 1) & (length - 1)
    this.#free(part, cell)
    part.count--
    if (length > cellsMin && part.count * shrinkRatio < length * part.growLoad) this.#resize(part, length / 2)
  }

  #partOf(hash: number): Part {
    return this.#parts[hash >>> partShift] as Part
  }

  /** Frees a cell. What stands behind it, and only for want of that cell, moves up; and so on from where that was. */
  #free({ cells, steps }: Part, cell: number): void {
    const mask = cells.length - 1
    let hole = cell
    let gap = 1
    for (let next = (hole + 1) & mask; cells[next] !== free; next = (next + 1) & mask, gap++) {
      const row = cells[next] as number
      let stepCount = steps[next] as number
      if (stepCount === stepsMax) stepCount = (next - this.#keys.hash(row, this.#factors)) & mask
      if (stepCount < gap) continue
      cells[hole] = row
      steps[hole] = Math.min(stepCount - gap, stepsMax)
      hole = next
      gap = 0
    }
    cells[hole] = free
  }

  #resize(part: Part, length: number): void {
    const { cells } = part
    Object.assign(part, emptyCells(length))
    for (const row of cells) if (row !== free) place(part, this.#keys.hash(row, this.#factors), row)
  }
}

function emptyCells(length: number): Pick<Part, 'cells' | 'steps'> {
  return { cells: new Int32Array(length).fill(free), steps: new Uint8Array(length) }
}

function place({ cells, steps }: Part, hash: number, row: number): void {
  const mask = cells.length - 1
  let cell = hash & mask
  let stepCount = 0
  while (cells[cell] !== free) {
    cell = (cell + 1) & mask
    stepCount++
  }
  cells[cell] = row
  steps[cell] = Math.min(stepCount, stepsMax)
}
