/** Indexes over keys: every key is found in its row, and no other. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hashFactors, hashWords, KeyIndex, SlotIndex } from './key-index.js'

const key = fc.record({
  gallery: fc.integer({ min: 0, max: 3 }),
  // Numbers that differ in their upper or lower half only.
  postNo: fc
    .tuple(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 1, max: 40 }))
    .map(([high, low]) => high * 2 ** 32 + low),
})
const keys = fc.uniqueArray(key, {
  maxLength: 200,
  selector: ({ gallery, postNo }) => `${gallery}/${postNo}`,
})

test('an index finds what was added, and -1 for all else', () => {
  fc.assert(
    fc.property(keys, fc.nat(200), fc.nat(0xffffffff), (list, addedCount, seed) => {
      const factors = hashFactors(seed)
      const gallery = Uint32Array.from(list, (each) => each.gallery)
      const postNo = Float64Array.from(list, (each) => each.postNo)
      const index = new KeyIndex(gallery, postNo, addedCount, factors)
      for (let row = 0; row < Math.min(addedCount, list.length); row++) index.add(row)
      const slots = new SlotIndex(gallery, postNo, factors)
      list.forEach((each, row) => {
        expect(index.find(each.gallery, each.postNo)).toBe(row < addedCount ? row : -1)
        expect(slots.find(each.gallery, each.postNo)).toBe(row)
      })
      expect(slots.find(4, 1)).toBe(-1)
    }),
    { numRuns: 300 },
  )
})

test('numbers that are slow to find under one seed are found at once under another', () => {
  const count = 1000
  const cells = 2048
  const colliding: number[] = []
  for (let low = 1; colliding.length < count; low++)
    if (hashWords(0, 0, low, hashFactors(1)) % cells === 0) colliding.push(low)
  const looksAtKeys = (seed: number): number => {
    let looks = 0
    const postNo = new Proxy(Float64Array.from(colliding), {
      get: (numbers, row) => {
        looks++
        return Reflect.get(numbers, row) as unknown
      },
    })
    const index = new KeyIndex(new Uint32Array(count), postNo, count, hashFactors(seed))
    for (let row = 0; row < count; row++) index.add(row)
    for (const number of colliding) index.find(0, number)
    return looks
  }
  expect(looksAtKeys(1)).toBeGreaterThan((count * count) / 4)
  expect(looksAtKeys(2)).toBeLessThan(count * 4)
})
