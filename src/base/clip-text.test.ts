/** What is left of a text in a message. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { clipText } from './index.js'

test.each([
  ['abc', 3, 'abc'],
  ['abcd', 3, 'abc…'],
  ['ab😀', 4, 'ab😀'],
  ['ab😀c', 4, 'ab😀…'],
  ['ab😀', 3, 'ab…'],
  ['ab\ud83d', 3, 'ab\ufffd'],
  ['\ude00abc', 2, '\ufffda…'],
  ['', 2, ''],
])('of %j in %i units is %j', (text, charsMax, clipped) => {
  expect(clipText(text, charsMax)).toBe(clipped)
})

test('any clipped text is Unicode text of at most its length, and begins like the text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 1, max: 12 }), (text, charsMax) => {
      const clipped = clipText(text, charsMax)
      expect(clipped.isWellFormed()).toBe(true)
      expect(clipped.length).toBeLessThanOrEqual(charsMax + 1)
      expect(text.toWellFormed().startsWith(clipped.replace(/…$/, ''))).toBe(true)
      expect(clipped === text.toWellFormed()).toBe(text.length <= charsMax)
    }),
  )
})
