/**
 * Gathers embeddings by slot into a matrix of rows.
 */
import { assert } from '../../contract/index.js'
import type { EmbeddingColumn } from '../model.js'

/**
 * Writes the embedding of each of `slots` into `matrix` [slots, dim], or `missing` without one. A `matrix` without
 * columns stays empty.
 */
export function fillEmbeddings(
  embeddings: EmbeddingColumn | null,
  slots: Uint32Array,
  matrix: Float32Array,
  missing: number,
): void {
  if (embeddings === null || matrix.length === 0) {
    matrix.fill(missing)
    return
  }
  const { dim, vectors, row } = embeddings
  assert(matrix.length === slots.length * dim, 'embeddings come from the encoder of the model')
  slots.forEach((slot, index) => {
    const vector = row[slot] ?? -1
    const start = index * dim
    assert((vector + 1) * dim <= vectors.length, 'a slot has a vector of the table or none')
    if (vector < 0) matrix.fill(missing, start, start + dim)
    else matrix.set(vectors.subarray(vector * dim, (vector + 1) * dim), start)
  })
}
