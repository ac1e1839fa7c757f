/**
 * HTML to text: what is kept, what is removed, where words and lines end.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cutChars, htmlToText } from './html-text.js'

const textOf = (html: string): string => htmlToText(html, 1_000_000)

describe('the text of a body', () => {
  test.each([
    ['has its entities decoded', '&lt;b&gt; &amp; &#44032;&#x1F602; &copy;', '<b> & 가😂 ©'],
    ['has a line per block', '<p>하나</p><p>둘</p><div>셋<br>넷</div>다섯', '하나\n둘\n셋\n넷\n다섯'],
    ['begins a line after a block, also behind white space', '<p>a</p> b <div>c</div>', 'a\nb\nc'],
    ['has a line per cell and item', '<ul><li>a<li>b</ul><table><tr><td>c<td>d</table>', 'a\nb\nc\nd'],
    ['runs through inline elements', '가<b>나</b><a href="x">다</a>', '가나다'],
    ['has its white space collapsed', ' a \n\n b&nbsp;&nbsp;c\t<b> d</b> ', 'a b c d'],
    ['has no empty lines', '<div><p> </p><p>a</p><br><br><p>b</p></div>', 'a\nb'],
    ['removes scripts and styles', 'a<script>if (a < b) x("<p>")</script><style>p{}</style>b', 'a b'],
    ['removes comments', 'a<!-- <p>x</p> -->b', 'ab'],
    ['removes alt texts and links', '사진<img src="x" alt="고양이">끝<a href="y"></a>', '사진 끝'],
    ['removes the fallback text of a video', '<video src="x">재생할 수 없습니다</video>댓글', '댓글'],
    ['accepts elements that are not closed', '<div><b>a<p>b<i>c', 'a\nbc'],
    ['is empty for an empty body', '', ''],
    ['is that of a plain text', '그냥 글 < 5 & 6', '그냥 글 < 5 & 6'],
  ])('%s', (_, html, text) => expect(textOf(html)).toBe(text))

  test('has at most the requested length, and never ends inside a character', () => {
    expect(htmlToText('가나다라', 2)).toBe('가나')
    expect(htmlToText('a😂b', 2)).toBe('a')
    expect(cutChars('a😂b', 3)).toBe('a😂')
  })

  test('of a body larger than one chunk is complete', () => {
    const words = Array.from({ length: 20_000 }, (_, index) => `낱말${index}`)
    expect(textOf(words.map((word) => `<b>${word}</b> `).join(''))).toBe(words.join(' '))
  })

  test('ends at elements that are nested too deep', () => {
    const text = textOf('앞' + '<b>'.repeat(300_000) + '뒤')
    expect(text).toBe('앞')
  })

  test('has no tags, no double spaces and no blank ends, whatever the input', () => {
    const piece = fc.constantFrom(
      '<p>',
      '</p>',
      '<br>',
      '<b>',
      '</b>',
      '<script>',
      '</script>',
      ' ',
      '\n',
      '가',
      'a.',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const text = textOf(pieces.join(''))
        expect(text).not.toMatch(/[<>]|\s\s|^\s|\s$/)
      }),
    )
  })
})
