/** The text of a post: readable, complete, and quickly made of any input. */
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
])('%j is %j', (html, text) => {
  expect(plainText(html)).toBe(text)
})

test('tags that do not end cost time in proportion to their number', () => {
  const html = '<p '.repeat(200_000)
  expect(plainText(html)).toBe(html.trim())
})
