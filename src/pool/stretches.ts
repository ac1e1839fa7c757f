/**
 * Where the rows of a new column come from: one of two older columns, or nowhere. Rows that follow each other there are
 * one stretch and copied at once; mostly there are two or three stretches in all.
 *
 *   slot     0 … 4499       4500 … 4999        a pool that the 500 oldest posts left, while 500 others entered
 *   source   first, 500 …   second, 0 …        its columns before, and those of the candidates
 */
import type { ColumnMemory } from './column-memory.js'
import type { Column } from './columns.js'

export const source = { blank: 0, first: 1, second: 2 } as const
export type Source = (typeof source)[keyof typeof source]

/** Rows `at` to before `end` are those of the source from `start` on. */
export interface Stretch {
  readonly from: Source
  readonly start: number
  readonly at: number
  readonly end: number
}

/** A `set` costs about as much as copying this many rows one by one. */
const stretchRowsMin = 64
/** In a list of rows: no row; and rows of the second source, which go down from there. */
const blankRow = -1
const secondRow = -2

export class Stretches {
  #count = 0
  /** By stretch: its source, its first row there, and the row that it begins with here. */
  readonly #sources: Source[] = []
  readonly #starts: number[] = []
  readonly #targets: number[] = []
  /** The source of the last stretch, and the row there with which it would go on. */
  #source: Source = source.blank
  #next = -1
  /** `listRows`, once it was asked for. */
  #rows = new Int32Array(0)

  /** Rows so far. */
  get count(): number {
    return this.#count
  }

  /** True where no row has a source. */
  get isBlank(): boolean {
    return this.#sources.every((from) => from === source.blank)
  }

  /** Appends `count` rows of a source, from row `start` on. */
  add(from: Source, start: number, count: number): void {
    if (count === 0) return
    if (from !== this.#source || start !== this.#next) {
      this.#sources.push(from)
      this.#starts.push(start)
      this.#targets.push(this.#count)
      this.#source = from
    }
    this.#next = start + count
    this.#count += count
  }

  addBlank(count: number): void {
    this.add(source.blank, this.#count, count)
  }

  get stretchCount(): number {
    return this.#starts.length
  }

  /** No callback visits them: what V8 compiles for a closure of one cycle is gone with it, for the next to wait for. */
  stretch(index: number): Stretch {
    return {
      from: this.#sources[index] as Source,
      start: this.#starts[index] as number,
      at: this.#targets[index] as number,
      end: this.#targets[index + 1] ?? this.#count,
    }
  }

  /** The new column; blank rows are NaN. */
  float64(first: Float64Array, second: Float64Array, memory: ColumnMemory): Float64Array {
    const column = memory.float64(this.#count)
    if (this.#scattered) gatherFloat64(this.#listRows(), first, second, column)
    else this.#copy(first, second, column, NaN)
    return column
  }

  /** The new column; blank rows are 0, as in the next. */
  uint32(first: Uint32Array, second: Uint32Array, memory: ColumnMemory): Uint32Array {
    const column = memory.uint32(this.#count)
    if (this.#scattered) gatherUint32(this.#listRows(), first, second, column)
    else this.#copy(first, second, column, 0)
    return column
  }

  uint8(first: Uint8Array, second: Uint8Array, memory: ColumnMemory): Uint8Array {
    const column = memory.uint8(this.#count)
    if (this.#scattered) gatherUint8(this.#listRows(), first, second, column)
    else this.#copy(first, second, column, 0)
    return column
  }

  /** True where stretches are too short to be worth it. */
  get #scattered(): boolean {
    return (this.stretchCount - 1) * stretchRowsMin > this.#count
  }

  #copy<Kind extends Column>(first: Kind, second: Kind, target: Kind, blank: number): void {
    for (let i = 0; i < this.stretchCount; i++) {
      const { from, start, at, end } = this.stretch(i)
      if (from === source.blank) target.fill(blank, at, end)
      else target.set((from === source.first ? first : second).subarray(start, start + end - at), at)
    }
  }

  /** Where each row comes from. */
  #listRows(): Int32Array {
    if (this.#rows.length === this.#count) return this.#rows
    const rows = new Int32Array(this.#count)
    for (let i = 0; i < this.stretchCount; i++) {
      const { from, start, at, end } = this.stretch(i)
      const [base, step] = from === source.first ? [start, 1] : [secondRow - start, -1]
      if (from === source.blank) rows.fill(blankRow, at, end)
      else for (let row = at; row < end; row++) rows[row] = base + step * (row - at)
    }
    return (this.#rows = rows)
  }
}

// Three of one kind: a loop that sees one type of array runs several times as fast as one that sees all.
function gatherFloat64(rows: Int32Array, first: Float64Array, second: Float64Array, to: Float64Array): void {
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i] as number
    if (row >= 0) to[i] = first[row] as number
    else to[i] = row === blankRow ? NaN : (second[secondRow - row] as number)
  }
}

function gatherUint32(rows: Int32Array, first: Uint32Array, second: Uint32Array, to: Uint32Array): void {
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i] as number
    if (row >= 0) to[i] = first[row] as number
    else to[i] = row === blankRow ? 0 : (second[secondRow - row] as number)
  }
}

function gatherUint8(rows: Int32Array, first: Uint8Array, second: Uint8Array, to: Uint8Array): void {
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i] as number
    if (row >= 0) to[i] = first[row] as number
    else to[i] = row === blankRow ? 0 : (second[secondRow - row] as number)
  }
}
