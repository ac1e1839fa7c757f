/**
 * Vectors of one width in one block of memory that grows, each under a key. Models gather rows of it.
 */

const rowCountMin = 64

export class VectorArena<Key> {
  readonly dim: number
  #vectors: Float32Array
  readonly #rows = new Map<Key, number>()
  readonly #free: number[] = []

  constructor(dim: number) {
    this.dim = dim
    this.#vectors = new Float32Array(rowCountMin * dim)
  }

  /** Row-major [rows, dim]. Another block after a vector was added. */
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

  /** Keeps a copy of `vector`, in place of an earlier one of the key. */
  set(key: Key, vector: Float32Array): void {
    if (vector.length !== this.dim) throw new Error(`a vector of ${vector.length} values, not ${this.dim}`)
    const row = this.#rows.get(key) ?? this.#free.pop() ?? this.#rows.size
    if ((row + 1) * this.dim > this.#vectors.length) this.#grow()
    this.#vectors.set(vector, row * this.dim)
    this.#rows.set(key, row)
  }

  delete(key: Key): void {
    const row = this.#rows.get(key)
    if (row === undefined) return
    this.#rows.delete(key)
    this.#free.push(row)
  }

  /** Forgets the vectors of all keys but those that `keep` holds. */
  retain(keep: ReadonlySet<Key>): void {
    for (const key of this.#rows.keys()) if (!keep.has(key)) this.delete(key)
  }

  #grow(): void {
    const bigger = new Float32Array(this.#vectors.length * 2)
    bigger.set(this.#vectors)
    this.#vectors = bigger
  }
}
