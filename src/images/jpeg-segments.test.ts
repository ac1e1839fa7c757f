/**
 * Markers are found wherever they are: after short and long runs of coded data, stuffed bytes and fill bytes.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { nextMarker } from './jpeg-segments.js'

const run = fc.tuple(fc.constantFrom([7], [0xff, 0], [0xff], [7, 0xff, 0]), fc.integer({ min: 0, max: 40 }))

test('the next marker is the first 0xff that is followed by neither 0 nor 0xff', () => {
  fc.assert(
    fc.property(
      fc.array(run, { maxLength: 5 }),
      fc.constantFrom([], [0xd9], [0xff, 0xd9, 3]),
      fc.nat(60),
      (runs, end, from) => {
        const coded = runs.flatMap(([unit, count]) => Array.from({ length: count }, () => unit).flat())
        const bytes = Uint8Array.from([...coded, ...end])
        const first = bytes.findIndex(
          (byte, at) => at >= from && byte === 0xff && ![undefined, 0, 0xff].includes(bytes[at + 1]),
        )
        expect(nextMarker(bytes, from)).toBe(first < 0 ? bytes.length : first)
      },
    ),
    { numRuns: 2000 },
  )
})
