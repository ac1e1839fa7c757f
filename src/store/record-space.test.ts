/**
 * Memory for records: what one record gets, no other one has.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { RecordSpace } from './record-space.js'

describe('a space for records', () => {
  test('gives each record bytes of its own, aligned to eight, however many were asked for before', () => {
    const sizes = fc.array(fc.oneof(fc.nat(100), fc.nat(5_000_000)), { maxLength: 6 })
    fc.assert(
      fc.property(fc.array(sizes, { maxLength: 6 }), (rounds) => {
        const space = new RecordSpace()
        for (const round of rounds) {
          const records = round.map((bytes, index) => space.allocate(bytes).fill(index + 1))
          records.forEach((record, index) => {
            expect(record.byteLength).toBe(round[index])
            expect(record.byteOffset % 8).toBe(0)
            expect([record[0], record.at(-1)]).toEqual(
              record.length === 0 ? [undefined, undefined] : [index + 1, index + 1],
            )
          })
          space.clear()
        }
      }),
      { numRuns: 50 },
    )
  })

  test('gives the same memory again for the next cycle', () => {
    const space = new RecordSpace()
    const round = () => [1000, 50_000, 3].map((bytes) => space.allocate(bytes).buffer)
    round()
    space.clear()
    const [first, ...others] = round()
    for (const buffer of others) expect(buffer).toBe(first)
    space.clear()
    expect(round()[0]).toBe(first)
  })

  test('does not keep memory of cycles beyond all measure', () => {
    const space = new RecordSpace()
    space.allocate(100_000_000)
    space.clear()
    expect(space.allocate(10).buffer.byteLength).toBe(10)
  })
})
