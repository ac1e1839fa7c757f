/**
 * Imported by a test of cycles: memory that the store and the caches of vectors use again is overwritten when it is
 * released, so that a model which reads the vector of a deleted key scores with NaN.
 */
import { VectorTable } from '../../src/cycle/embeddings/vectors.js'
import { poisonRecords } from './poisoned-records.js'

poisonRecords()

const table = VectorTable.prototype as { delete: (this: VectorTable<unknown>, key: unknown) => void }
const { delete: release } = table
table.delete = function (key): void {
  const row = this.row(key)
  if (row >= 0) this.vectors.fill(NaN, row * this.dim, (row + 1) * this.dim)
  release.call(this, key)
}
