/** Columns packed for the disk: what goes in comes out, and both ways to pack give the same bytes. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { loadCodec } from './codec.js'
import { packTable, unpackTable, type NumberColumn } from './pack.js'

test('packed columns come back as they went in', () => {
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
      // -0 may come back as 0: no column of ours tells them apart.
      expect(table.columns.map((values) => [...values].map((v) => v + 0))).toEqual(
        columns.map((c) => c.map((v) => v + 0)),
      )
    }),
  )
})

test('native and reference pack columns into the same bytes, whatever they hold', () => {
  const { packColumns } = loadCodec('native').codec
  const whole = fc.oneof(fc.nat(260), fc.nat(70_000), fc.nat(2 ** 32 - 1))
  const odd = fc.oneof(
    fc.double(),
    fc.constantFrom(NaN, 0, -0, Infinity, -Infinity, 2 ** 51, 2 ** 53, -(2 ** 53) + 1, 0.5, 2 ** 51 + 0.5),
  )
  const near = fc
    .tuple(fc.constantFrom(-300, 0, 1.7e9, -(2 ** 52), 2 ** 53 - 70_000), whole)
    .map(([a, b]) => a + b)
  const list = <Value>(value: fc.Arbitrary<Value>) => fc.array(value, { minLength: 21, maxLength: 21 })
  const column: fc.Arbitrary<NumberColumn> = fc.oneof(
    ...[whole, odd, near, fc.oneof(near, fc.constant(NaN)), fc.oneof(whole, odd)].map((value) =>
      list(value).map((values) => Float64Array.from(values)),
    ),
    odd.map((value) => new Float64Array(21).fill(value)),
    list(whole).map((values) => Uint32Array.from(values)),
    list(fc.nat(255)).map((values) => Uint8Array.from(values)),
  )
  fc.assert(
    fc.property(fc.array(column, { maxLength: 6 }), fc.integer({ min: 0, max: 21 }), (columns, rowCount) => {
      // Memory that held something else.
      const allocate = (bytes: number) => new Uint8Array(bytes).fill(0xa5)
      const native = packTable({ any: 'header' }, rowCount, columns, { allocate, pack: packColumns })
      expect(Buffer.compare(native, packTable({ any: 'header' }, rowCount, columns))).toBe(0)
    }),
    { numRuns: 2000 },
  )
})

test('native code refuses columns that are too short, of another type, or without room', () => {
  const { packColumns } = loadCodec('native').codec
  const room = new Uint8Array(1000)
  expect(() => packColumns([new Float64Array(2)], 3, room, 0)).toThrow('fewer rows')
  expect(() => packColumns([new Int8Array(3) as unknown as Uint8Array], 3, room, 0)).toThrow('type')
  expect(() => packColumns([new Float64Array(200)], 200, room, 0)).toThrow('no room')
  expect(() => packColumns([new Float64Array(3)], 3, room, 996)).toThrow('no room')
  expect(() => packColumns([new Float64Array(3)], 3, room, 2 ** 31)).toThrow('no room')
  expect(() => packColumns([new Float64Array(3)], 3, room, 4)).toThrow('no room')
})
