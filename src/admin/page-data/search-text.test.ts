/** Which texts a search finds. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { searchText } from './search-text.js'

const finds = (typed: string, title: string): boolean => searchText(title).includes(searchText(typed))

test.each([
  ['국밥', '국밥 맛집 추천'.normalize('NFD')],
  ['국밥'.normalize('NFD'), '국밥 맛집 추천'],
  ['ABC', 'ＡＢＣ 질문'],
  ['ａｂｃ', 'abc'],
  ['café', 'CAFÉ 국밥'.normalize('NFD')],
  ['ㅠㅠ', '오늘 ㅋㅋㅠㅠ'],
  ['ㅋㅋㅠ', '오늘 ㅋㅋㅠㅠ'],
  ['οδοσ', 'ΟΔΟΣ'],
  ['ΟΔΟΣ', 'οδος'],
  ['STRASSE', 'Straße'],
  ['카메라', 'ｶﾒﾗ 카메라'],
])('%s finds %s', (typed, title) => {
  expect(finds(typed, title)).toBe(true)
})

test('a text is found by itself, in every normalization form and case', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      // Loose letters of Hangul lose their identity in the compatibility forms.
      for (const form of ['NFC', 'NFD']) expect(finds(text.normalize(form), text)).toBe(true)
    }),
  )
})

test.each([
  ['국', '굮'],
  ['가', 'ㄱㅏ'],
  ['b', 'ａ'],
])('%s does not find %s', (typed, title) => {
  expect(finds(typed, title)).toBe(false)
})
