/**
 * Vectors from several calls of an encoder, put together.
 */
import type { Vectors } from '../../model/index.js'

/** By row of the whole: zeros and not encoded, until its call has made it. */
export class Gathered {
  readonly vectors: Vectors
  readonly #dim: number

  constructor(count: number, dim: number) {
    this.#dim = dim
    this.vectors = { vectors: new Float32Array(count * dim), encoded: new Uint8Array(count) }
  }

  /** Takes what a call has made of `rows`. */
  take(rows: readonly number[], { vectors, encoded }: Vectors): void {
    const dim = this.#dim
    rows.forEach((row, i) => {
      if (encoded[i] !== 1) return
      this.vectors.vectors.set(vectors.subarray(i * dim, (i + 1) * dim), row * dim)
      this.vectors.encoded[row] = 1
    })
  }

  /** Those of `rows` that no call has made. */
  lacking(rows: readonly number[]): number[] {
    return rows.filter((row) => this.vectors.encoded[row] !== 1)
  }
}
