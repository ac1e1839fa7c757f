/** Rows of any table are read as they were packed. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { packRows, unpackRows } from './table.js'
import { cycleTables } from './tables.js'

const table = {
  row: 'Anything.',
  columns: [
    { name: 'a', type: 'number', meaning: '' },
    { name: 'b', type: 'sequence', meaning: '' },
    { name: 'c', type: 'text', meaning: '' },
  ],
} as const

const floats = {
  row: 'Anything.',
  columns: [
    { name: 'x', type: 'float32', meaning: '' },
    { name: 'y', type: 'float32', meaning: '' },
  ],
} as const

describe('rows are read as they were packed', () => {
  const row = fc.record({
    a: fc.oneof(fc.double(), fc.integer(), fc.constant(NaN)),
    b: fc.integer({ min: -(2 ** 31), max: 2 ** 31 }),
    c: fc.oneof(fc.constantFrom('야구', '', 'g'), fc.constant(null), fc.string({ unit: 'binary' })),
  })

  test('numbers, sequences and texts, few and many', () =>
    fc.assert(
      fc.property(fc.array(row, { maxLength: 60 }), fc.integer({ min: 1, max: 40 }), (some, times) => {
        const rows = Array.from({ length: times }, () => some).flat()
        const columns = {
          count: rows.length,
          a: Float64Array.from(rows, ({ a }) => a + 0),
          b: Float64Array.from(rows, ({ b }) => b),
          c: rows.map(({ c }) => c),
        }
        expect(unpackRows(table, packRows(table, columns))).toEqual(columns)
      }),
    ))

  test.each([1, 7, 5000])('%i rows of floats, and a column without values', (count) => {
    const x = Float32Array.from({ length: count }, (_, row) => (row % 9 === 8 ? NaN : Math.sin(row) / 3))
    const packed = packRows(floats, { count, x, y: null })
    expect(unpackRows(floats, packed)).toEqual({ count, x, y: null })
  })

  test('every bit pattern of a float', () =>
    fc.assert(
      fc.property(fc.uint32Array({ minLength: 1, maxLength: 40 }), (bits) => {
        const x = new Float32Array(bits.buffer, bits.byteOffset, bits.length)
        const { x: read } = unpackRows(floats, packRows(floats, { count: bits.length, x, y: null }))
        expect([...new Uint32Array(read!.buffer)]).toEqual([...bits])
      }),
    ))

  test('a view of floats that begins in the middle of its buffer', () => {
    const x = Float32Array.of(1, 2, 3, 4).subarray(1, 3)
    expect(unpackRows(floats, packRows(floats, { count: 2, x, y: x }))).toEqual({ count: 2, x, y: x })
  })

  test('a table without rows takes no byte', () => {
    const none = { count: 0, a: new Float64Array(0), b: new Float64Array(0), c: [] }
    expect(packRows(table, none)).toHaveLength(0)
    expect(unpackRows(table, new Uint8Array(0))).toEqual(none)
  })
})

test('what was packed is checked: a column that lacks a row, and bytes of another table, are errors', () => {
  const rows = { count: 2, a: new Float64Array(2), b: new Float64Array(1), c: ['', ''] }
  expect(() => packRows(table, rows)).toThrow('each row has a value in b')
  const packed = packRows(table, { count: 1, a: new Float64Array(1), b: new Float64Array(1), c: ['g'] })
  expect(() => unpackRows(cycleTables.results, packed)).not.toThrow()
  expect(() => unpackRows(cycleTables.scored, packed)).toThrow('3 columns instead of 5')
  const heads = packRows(floats, { count: 3, x: new Float32Array(3), y: new Float32Array(3) })
  for (const cut of [heads.subarray(0, -1), Buffer.concat([heads, Buffer.alloc(1)])])
    expect(() => unpackRows(floats, cut)).toThrow('wrong length')
  heads[4] = 3
  expect(() => unpackRows(floats, heads)).toThrow('wrong length')
})
