/** A table of vectors holds those of its keys, whatever was set and deleted before. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { VectorTable } from './vectors.js'

test('any sequence of sets, deletions and retentions leaves the vectors of a plain map', () => {
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ set: fc.nat(99) }) },
    { weight: 2, arbitrary: fc.record({ delete: fc.nat(99) }) },
    { weight: 1, arbitrary: fc.record({ retain: fc.uniqueArray(fc.nat(99)) }) },
  )
  fc.assert(
    // More keys than the first rows of a table.
    fc.property(fc.array(step, { maxLength: 300, size: 'max' }), (steps) => {
      const table = new VectorTable<number>(2)
      const expected = new Map<number, Float32Array>()
      for (const [index, each] of steps.entries()) {
        if ('set' in each) {
          const vector = Float32Array.of(each.set, index)
          table.set(each.set, vector)
          expected.set(each.set, vector)
        } else if ('delete' in each) {
          table.delete(each.delete)
          expected.delete(each.delete)
        } else {
          table.retain(new Set(each.retain))
          for (const key of expected.keys()) if (!each.retain.includes(key)) expected.delete(key)
        }
      }
      expect(table.count).toBe(expected.size)
      for (let key = 0; key < 100; key++) {
        const row = table.row(key)
        const vector = row < 0 ? undefined : table.vectors.slice(row * 2, row * 2 + 2)
        expect(vector).toEqual(expected.get(key))
      }
    }),
  )
})
