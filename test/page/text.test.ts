/** How the operators' page formats times and figures, and shows the HTML of a post as text without interpreting it. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  age,
  ago,
  bytes,
  clock,
  compact,
  cycleLabel,
  dayClock,
  duration,
  milliseconds,
  sinceStart,
} from '../../src/page/format.js'
import { plainText } from '../../src/page/parts/plain-text.js'

describe('times', () => {
  test('are those of Korea, wherever the browser is', () => {
    expect(clock('2024-02-29T15:05:00Z')).toBe('00:05')
    expect(dayClock('2024-02-29T15:05:00Z')).toBe('2024-03-01 00:05')
    expect(dayClock(null)).toBe('–')
    expect(cycleLabel('20240301T0005')).toBe('03-01 00:05')
    expect(cycleLabel('something else')).toBe('something else')
  })

  test.each([
    [0, '0 s', '0 s'],
    [59_400, '59 s', '59 s'],
    [60_000, '1 min', '1 min'],
    [3_600_000, '1 h', '1.0 h'],
    [3 * 3_600_000 + 300_000, '3 h 5 min', '3.1 h'],
    [30 * 3_600_000, '30 h', '30 h'],
    [50 * 3_600_000, '2 d', '2 d'],
    [-1, '0 s', '0 s'],
  ])('%d ms is %s, in a column %s', (ms, long, short) => {
    expect([duration(ms), age(ms)]).toEqual([long, short])
  })

  test('name the start of the service until it is a day ago', () => {
    const [startedAt, startMs, dayMs] = [
      '2024-02-29T15:05:00Z',
      Date.parse('2024-02-29T15:05:00Z'),
      86_400_000,
    ]
    expect(sinceStart(startedAt, startMs + dayMs - 1)).toBe('since 00:05 KST')
    expect(sinceStart(startedAt, startMs + dayMs)).toBeUndefined()
  })

  test('state whether they have passed', () => {
    expect([ago(1000, 61_000), ago(61_000, 1000)]).toEqual(['1 min ago', 'in 1 min'])
  })
})

test.each([
  [compact(9), '9'],
  [compact(1.25), '1.3'],
  [compact(9999), '9,999'],
  [compact(12_345), '12.3k'],
  [compact(1_234_567), '1.2M'],
  [compact(null), '–'],
  [bytes(1023), '1023 B'],
  [bytes(1.5 * 2 ** 30), '1.5 GiB'],
  [milliseconds(0), '0 ms'],
  [milliseconds(3.456), '3.46 ms'],
  [milliseconds(1234), '1.23 s'],
])('%s is written as %s', (written, expected) => {
  expect(written).toBe(expected)
})

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
