/** Indexes over keys: every key is found in its row, and no other. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { KeyIndex, SlotIndex } from './key-index.js'

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
    fc.property(keys, fc.nat(200), (list, addedCount) => {
      const gallery = Uint32Array.from(list, (each) => each.gallery)
      const postNo = Float64Array.from(list, (each) => each.postNo)
      const index = new KeyIndex(gallery, postNo, addedCount)
      for (let row = 0; row < Math.min(addedCount, list.length); row++) index.add(row)
      const slots = new SlotIndex(gallery, postNo)
      list.forEach((each, row) => {
        expect(index.find(each.gallery, each.postNo)).toBe(row < addedCount ? row : -1)
        expect(slots.find(each.gallery, each.postNo)).toBe(row)
      })
      expect(slots.find(4, 1)).toBe(-1)
    }),
    { numRuns: 300 },
  )
})
