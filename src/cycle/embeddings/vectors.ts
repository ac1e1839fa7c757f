/**
 * Vectors of one width: a growing table with one vector per key, from which models read rows, and the vectors of several
 * encoder calls gathered by row.
 */
import { assert } from '../../contract/index.js'
import type { Vectors } from '../../model/index.js'

const rowCountMin = 64

export class VectorTable<Key> {
  readonly dim: number
  #vectors: Float32Array
  readonly #rows = new Map<Key, number>()
  readonly #free: number[] = []

  constructor(dim: number) {
    this.dim = dim
    this.#vectors = new Float32Array(rowCountMin * dim)
  }

  /** Row-major [rows, dim]. `set` may replace it by a larger array. */
  get vectors(): Float32Array {
    return this.#vectors
  }

  get count(): number {
    return this.#rows.size
  }

  /** The row of a key's vector, or -1. */
  row(key: Key): number {
    return this.#rows.get(key) ?? -1
  }

  /** Stores a copy of `vector`; replaces an earlier vector of the key. */
  set(key: Key, vector: Float32Array): void {
    assert(vector.length === this.dim, 'a vector has the width of its table')
    const row = this.#rows.get(key) ?? this.#free.pop() ?? this.#rows.size
    if ((row + 1) * this.dim > this.#vectors.length) this.#grow()
    assert((row + 1) * this.dim <= this.#vectors.length, 'the table has room for the row')
    this.#vectors.set(vector, row * this.dim)
    this.#rows.set(key, row)
  }

  delete(key: Key): void {
    const row = this.#rows.get(key)
    if (row === undefined) return
    this.#rows.delete(key)
    this.#free.push(row)
  }

  /** Deletes all keys that are not in `keep`. */
  retain(keep: ReadonlySet<Key>): void {
    for (const key of this.#rows.keys()) if (!keep.has(key)) this.delete(key)
  }

  #grow(): void {
    const bigger = new Float32Array(this.#vectors.length * 2)
    bigger.set(this.#vectors)
    this.#vectors = bigger
  }
}

export class GatheredVectors {
  /** A row has zeros and is not encoded until a call has encoded it. */
  readonly vectors: Vectors
  readonly #dim: number

  constructor(count: number, dim: number) {
    this.#dim = dim
    this.vectors = { vectors: new Float32Array(count * dim), encoded: new Uint8Array(count) }
  }

  /** Takes the vectors of a call that encoded `rows`. */
  take(rows: readonly number[], { vectors, encoded }: Vectors): void {
    const dim = this.#dim
    rows.forEach((row, i) => {
      if (encoded[i] !== 1) return
      this.vectors.vectors.set(vectors.subarray(i * dim, (i + 1) * dim), row * dim)
      this.vectors.encoded[row] = 1
    })
  }

  /** The `rows` that are not encoded. */
  missing(rows: readonly number[]): number[] {
    return rows.filter((row) => this.vectors.encoded[row] !== 1)
  }
}
