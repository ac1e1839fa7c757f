/**
 * Embeddings by slot as rows of a matrix.
 */
import { expect, test } from 'vitest'
import { fillEmbeddings } from './embedding-rows.js'

const column = { dim: 2, vectors: Float32Array.of(1, 2, 3, 4, 5, 6), row: Int32Array.of(2, -1, 0) }

test('each row is the vector of its slot, or the missing value if the slot has none or is unknown', () => {
  const matrix = new Float32Array(8).fill(9)
  fillEmbeddings(column, Uint32Array.of(2, 0, 1, 7), matrix, 0)
  expect([...matrix]).toEqual([1, 2, 5, 6, 0, 0, 0, 0])
  fillEmbeddings(column, Uint32Array.of(1, 2, 7, 7), matrix, NaN)
  expect([...matrix]).toEqual([NaN, NaN, 1, 2, NaN, NaN, NaN, NaN])
})

test('without embeddings all rows are missing', () => {
  const matrix = new Float32Array(4).fill(9)
  fillEmbeddings(null, Uint32Array.of(0, 1), matrix, 0)
  expect([...matrix]).toEqual([0, 0, 0, 0])
})

test('vectors of another width are refused', () => {
  expect(() => fillEmbeddings(column, Uint32Array.of(0, 1), new Float32Array(6), 0)).toThrow(
    /embeddings come from the encoder of the model/,
  )
})
