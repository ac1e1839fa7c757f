/** How the operators' page shows the HTML of a post as text without interpreting it. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { plainText } from '../../src/page/parts/plain-text.js'

describe('the HTML of a post as text', () => {
  test.each([
    ['<p>한 줄</p><p>둘째</p>', '한 줄\n\n둘째'],
    ['a<br>b<BR/>c', 'a\nb\nc'],
    ['1 &lt; 2 &amp;&amp; 3 &#62; 2 &#x1F600;', '1 < 2 && 3 > 2 😀'],
    ['&bogus; &#0; &#xd800; &#99999999;', '&bogus; &#0; &#xd800; &#99999999;'],
    ['<script>alert(1)</script>x<style>p{}</style>', 'x'],
    ['<script>never closed', ''],
    ['a < b and b > c', 'a < b and b > c'],
    ['<img src=x onerror=alert(1)>', ''],
  ])('%s', (html, text) => {
    expect(plainText(html)).toBe(text)
  })

  test('any text is accepted, and a long one in time proportional to its length', () => {
    fc.assert(fc.property(fc.string({ unit: 'grapheme' }), (text) => typeof plainText(text) === 'string'))
    for (const piece of ['<', '<script', '<style>', '&#', '<!', ' ', '\n ', '<p '])
      expect(plainText(piece.repeat(100_000)).length).toBeLessThanOrEqual(piece.length * 100_000)
  })
})
