/** Columns that are gathered have the rows that their sources denote, whether these form runs or not. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { gatherFloat64, gatherUint32, gatherUint8, noSource, secondRow, Sources } from './gather.js'

const rowsMax = 200
/** All values differ, and none is that of a missing row. */
const first: readonly number[] = Array.from({ length: 2 * rowsMax }, (_, row) => row + 1)
const second: readonly number[] = Array.from({ length: 2 * rowsMax }, (_, row) => row + 2 * rowsMax + 1)

/** Rows of one of the columns that follow each other, or rows without a value. */
const run = (length: fc.Arbitrary<number>): fc.Arbitrary<number[]> =>
  fc
    .record({
      source: fc.constantFrom('first', 'second', 'none'),
      start: fc.integer({ min: 0, max: rowsMax }),
      length,
    })
    .map(({ source, start, length: count }) =>
      Array.from({ length: count }, (_, i) => {
        if (source === 'none') return noSource
        return source === 'first' ? start + i : secondRow(start + i)
      }),
    )

const rowsOf = (length: fc.Arbitrary<number>): fc.Arbitrary<Int32Array> =>
  fc.array(run(length), { maxLength: 6 }).map((runs) => Int32Array.from(runs.flat()))

type Column = ArrayLike<number>

function expected(rows: Int32Array, [first, second]: [Column, Column], missing: number): number[] {
  return Array.from(rows, (row) => {
    if (row === noSource) return missing
    return row >= 0 ? first[row]! : second[secondRow(row)]!
  })
}

test.each([
  ['long', fc.integer({ min: 33, max: rowsMax })],
  ['short', fc.integer({ min: 0, max: 8 })],
])('%s runs of rows are copied to where their sources say', (_, length) => {
  fc.assert(
    fc.property(rowsOf(length), (rows) => {
      const sources = new Sources(rows)
      const floats = gatherFloat64(sources, Float64Array.from(first), Float64Array.from(second))
      expect([...floats]).toEqual(expected(rows, [first, second], NaN))
      const integers = gatherUint32(sources, Uint32Array.from(first), Uint32Array.from(second))
      expect([...integers]).toEqual(expected(rows, [first, second], 0))
      const [firstBytes, secondBytes] = [Uint8Array.from(first), Uint8Array.from(second)]
      const bytes = gatherUint8(sources, firstBytes, secondBytes)
      expect([...bytes]).toEqual(expected(rows, [firstBytes, secondBytes], 0))
    }),
  )
})

test('rows of either column, and rows without a value, form runs if these have 32 rows or more on average', () => {
  const rows = (length: number): Int32Array => {
    const places = [...Array(length).keys()]
    return Int32Array.from([...places, ...places.map(secondRow), ...places.map(() => noSource)])
  }
  expect(new Sources(rows(32)).runs).toEqual([0, 32, 64])
  expect(new Sources(rows(31)).runs).toBeNull()
})
