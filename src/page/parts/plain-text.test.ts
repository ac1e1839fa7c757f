/** The text of a post: readable, complete, and quickly made of any input. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { plainText } from './plain-text.js'

test.each([
  ['<p>하나</p><p>둘</p>', '하나\n\n둘'],
  ['a<br>b<br/>c', 'a\nb\nc'],
  ['<b>bold</b> <a href="x">link</a>', 'bold link'],
  ['<script>alert(1)</script>x<style>p{}</style>', 'x'],
  ['before<script>never closed', 'before'],
  ['1 < 2 and 3 > 2', '1 < 2 and 3 > 2'],
  ['&lt;b&gt; &amp;amp; &#60;&#x3c;&nbsp;&unknown;', '<b> &amp; << &unknown;'],
  ['&#0;&#xd800;&#1114112;', '&#0;&#xd800;&#1114112;'],
  ['a   \n\n\n\n\nb', 'a\n\nb'],
  ['1 &lt; 2 &amp;&amp; 3 &#62; 2 &#x1F600;', '1 < 2 && 3 > 2 😀'],
  ['<img src=x onerror=alert(1)>', ''],
])('%j is %j', (html, text) => {
  expect(plainText(html)).toBe(text)
})

test('any text is accepted, and a long one in time proportional to its length', () => {
  fc.assert(fc.property(fc.string({ unit: 'grapheme' }), (text) => typeof plainText(text) === 'string'))
  for (const piece of ['<', '<script', '<style>', '&#', '<!', ' ', '\n ', '<p '])
    expect(plainText(piece.repeat(200_000)).length).toBeLessThanOrEqual(piece.length * 200_000)
})
