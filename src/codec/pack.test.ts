/** Columns packed for the disk. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { packTable, unpackTable } from './pack.js'

test('unpacked columns have the values that were packed', () => {
  const column = fc.oneof(
    fc.array(fc.oneof(fc.nat(300), fc.constant(NaN)), { minLength: 5, maxLength: 5 }),
    fc.array(fc.oneof(fc.integer({ min: 1.7e9, max: 1.7e9 + 70_000 }), fc.constant(NaN)), {
      minLength: 5,
      maxLength: 5,
    }),
    fc.array(fc.double(), { minLength: 5, maxLength: 5 }),
    fc.array(fc.maxSafeInteger(), { minLength: 5, maxLength: 5 }),
    fc.double().map((value) => Array.from({ length: 5 }, () => value)),
  )
  fc.assert(
    fc.property(fc.array(column), fc.json(), (columns, header) => {
      const value = JSON.parse(header) as unknown
      const packed = packTable(
        value,
        5,
        columns.map((values) => Float64Array.from(values)),
      )
      const table = unpackTable(packed)
      expect(table.header).toEqual(value)
      // -0 may become 0: no column distinguishes them.
      expect(table.columns.map((values) => [...values].map((v) => v + 0))).toEqual(
        columns.map((c) => c.map((v) => v + 0)),
      )
    }),
  )
})

test('a fraction between two integers is kept', () => {
  const { columns } = unpackTable(packTable(null, 3, [Float64Array.of(1, 3, 2.5)]))
  expect([...(columns[0] ?? [])]).toEqual([1, 3, 2.5])
})

test('bytes of another format are refused', () => {
  const packed = packTable(null, 1, [Float64Array.of(1)])
  packed[0] = 0
  expect(() => unpackTable(packed)).toThrow('not a packed table')
  expect(() => unpackTable(packed.subarray(0, 15))).toThrow('not a packed table')
})

test('a column has the narrowest form that holds its values', () => {
  const bytesOf = (values: number[]): number =>
    packTable(null, values.length, [Float64Array.from(values)]).length
  const empty = packTable(null, 0, []).length
  const head = 16
  const cases: [number[], number][] = [
    [[5, 5, 5], 0],
    [[NaN, NaN], 0],
    [[1, 255], 8],
    [[0, 254, NaN], 8],
    // The highest offset means NaN, so these ranges need the next wider form.
    [[0, 255], 8],
    [[...Array(9).keys(), 255], 24],
    [[0, 65_535], 8],
    [[0, 1, 2, 65_534, NaN], 16],
    [[0, 1, 2, 65_535], 16],
    [[0, 1, 2, 65_535, NaN], 24],
    [[0, 1, 2 ** 32 - 1], 24],
    [[0.5, 1], 16],
  ]
  for (const [values, dataBytes] of cases)
    expect([values, bytesOf(values) - empty - head]).toEqual([values, dataBytes])
})
