/** Columns joined from stretches against the same columns picked row by row. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ColumnMemory } from './column-memory.js'
import { source, Stretches, type Source } from './stretches.js'

const sourceRowCount = 400

/** Long stretches or short ones: they are copied in different ways. */
const parts = (lengthMax: number) =>
  fc.array(
    fc.record({
      from: fc.constantFrom<Source>(source.blank, source.first, source.second),
      start: fc.integer({ min: 0, max: sourceRowCount - 200 }),
      length: fc.integer({ min: 0, max: lengthMax }),
    }),
    { maxLength: 40 },
  )

test('a joined column is what its stretches name, row by row', () => {
  const values = (offset: number): number[] =>
    Array.from({ length: sourceRowCount }, (_, row) => row + offset)
  const first = values(0)
  const second = values(1000)
  fc.assert(
    fc.property(fc.oneof(parts(2), parts(200)), fc.integer({ min: 0, max: 100_000 }), (list, bytes) => {
      const stretches = new Stretches()
      const expected: number[] = []
      for (const { from, start, length } of list) {
        if (from === source.blank) stretches.addBlank(length)
        else stretches.add(from, start, length)
        const rows = from === source.first ? first : second
        for (let row = start; row < start + length; row++)
          expected.push(from === source.blank ? NaN : (rows[row] as number))
      }
      // A block that was used before holds anything, and one that is too small leaves columns beside it.
      const memory = new ColumnMemory(bytes)
      memory.uint8(bytes).fill(7)
      memory.reset()
      const zeroed = expected.map((value) => (Number.isNaN(value) ? 0 : value))
      const [f64, u32, u8] = [Float64Array, Uint32Array, Uint8Array]
      expect([...stretches.float64(f64.from(first), f64.from(second), memory)]).toEqual(expected)
      expect([...stretches.uint32(u32.from(first), u32.from(second), memory)]).toEqual(zeroed)
      expect(stretches.uint8(u8.from(first), u8.from(second), memory)).toEqual(u8.from(zeroed))
      expect(stretches.isBlank).toBe(expected.every((value) => Number.isNaN(value)))
    }),
    { numRuns: 500 },
  )
})
