/** CRC-32: every way to make it gives zlib's number, of any bytes, wherever they lie. */
import { crc32 as expected } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { crc32, fastestCrc32, type Crc32 } from './crc32.js'
import { loadAddon } from './native-addon.js'

const value = fc.integer({ min: 0, max: 2 ** 32 - 1 })

/** Lengths up to 100,000, most of them near multiples of what some function takes at once. */
const length = fc.oneof(
  fc.nat(1100),
  fc.nat(100_000),
  fc
    .tuple(fc.nat(40), fc.constantFrom(16, 64, 128, 256, 1024), fc.integer({ min: -1, max: 1 }))
    .map(([count, width, off]) => Math.max(0, count * width + off)),
)

/** Bytes that begin anywhere in a larger array, with others before and behind them. */
const somewhere = fc
  .record({ length, offset: fc.nat(70), seed: fc.integer({ min: 0, max: 2 ** 32 - 1 }) })
  .map(({ length, offset, seed }) => {
    const all = new Uint8Array(offset + length + 70)
    let state = seed
    for (let i = 0; i < all.length; i++) {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      all[i] = state >>> 24
    }
    return all.subarray(offset, offset + length)
  })

const addonFunctions = loadAddon().crc32Functions
const functions: { name: string; of: Crc32 }[] = [
  { name: 'crc32', of: crc32 },
  ...addonFunctions.map((of, place) => ({ name: `function ${place} of the addon`, of })),
]

describe.each(functions)('$name', ({ of }) => {
  test('gives what zlib gives, of any bytes after any others', () => {
    fc.assert(
      fc.property(somewhere, value, (bytes, before) => {
        expect(of(bytes, before)).toBe(expected(bytes, before))
      }),
      { numRuns: 500 },
    )
  })

  test('gives for two parts, one after the other, what it gives for the whole', () => {
    fc.assert(
      fc.property(somewhere, fc.double({ min: 0, max: 1, noNaN: true }), value, (bytes, share, before) => {
        const middle = Math.round(share * bytes.length)
        const first = of(bytes.subarray(0, middle), before)
        expect(of(bytes.subarray(middle), first)).toBe(of(bytes, before))
      }),
    )
  })

  test('gives for the nine digits the number that the CRC’s definition names', () => {
    expect(of(new TextEncoder().encode('123456789'), 0)).toBe(0xcbf43926)
  })

  test('gives for every length through all of its loops what zlib gives', () => {
    const bytes = Uint8Array.from({ length: 1400 }, (_, i) => (i * i * 7) % 251)
    for (let count = 0; count <= bytes.length; count++)
      expect(of(bytes.subarray(0, count), count)).toBe(expected(bytes.subarray(0, count), count))
  })

  test('sees each bit: a byte that differs gives another number', () => {
    fc.assert(
      fc.property(somewhere, fc.nat(), fc.nat(7), (bytes, place, bit) => {
        fc.pre(bytes.length > 0)
        const before = of(bytes, 0)
        const at = place % bytes.length
        bytes[at] = (bytes[at] as number) ^ (1 << bit)
        expect(of(bytes, 0)).not.toBe(before)
      }),
    )
  })

  test('takes shared memory and Buffers as well', () => {
    const shared = new Uint8Array(new SharedArrayBuffer(5000)).fill(7)
    expect(of(shared, 1)).toBe(expected(shared, 1))
    expect(of(Buffer.alloc(5000, 7), 1)).toBe(expected(shared, 1))
  })
})

test('what is no array of bytes is a TypeError for the addon', () => {
  for (const of of addonFunctions) {
    const call = of as (...given: unknown[]) => number
    for (const given of [
      undefined,
      'text',
      7,
      new ArrayBuffer(8),
      new Float64Array(8),
      new DataView(new ArrayBuffer(8)),
    ])
      expect(() => call(given, 0)).toThrow(TypeError)
  }
})

test('without the addon, or one that has it for this machine, zlib’s serves', () => {
  const missing = (): never => {
    throw new Error('no such file')
  }
  expect(fastestCrc32(missing)).toBe(expected)
  expect(fastestCrc32(() => ({}))).toBe(expected)
  expect(fastestCrc32(() => ({ crc32Functions: [] }))).toBe(expected)
  expect(fastestCrc32(loadAddon)).toBe(addonFunctions[0] ?? expected)
})
