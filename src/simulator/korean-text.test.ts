/**
 * Generated texts: grammatical where it can be checked, varied, and well-formed HTML.
 */
import { expect, test } from 'vitest'
import {
  bodyHtml,
  didStems,
  endsClosed,
  happenedStems,
  sentence,
  titleText,
  topicOf,
  topics,
  withParticle,
} from './korean-text.js'
import { Rng } from './rng.js'

test.each([
  ['코드', '을/를', '코드를'],
  ['원두', '은/는', '원두는'],
  ['단풍', '이/가', '단풍이'],
  ['렌즈', '과/와', '렌즈와'],
  ['필름', '과/와', '필름과'],
  ['팀장님', '이랑/랑', '팀장님이랑'],
  ['친구', '이랑/랑', '친구랑'],
  ['API', '이/가', 'API가'],
  ['DLC', '을/를', 'DLC를'],
  ['RTX5080', '이/가', 'RTX5080이'],
  ['movie2', '은/는', 'movie2는'],
] as const)('%s with %s reads %s', (word, particle, expected) => {
  expect(withParticle(word, particle)).toBe(expected)
})

test('an empty word counts as one that ends with a vowel', () => {
  expect(endsClosed('')).toBe(false)
})

test('every past stem of the word lists takes the endings -다, -음 and -어요', () => {
  for (const stem of [...didStems, ...happenedStems]) {
    // ㅆ is the 20th final consonant.
    expect((stem.charCodeAt(stem.length - 1) - 0xac00) % 28, stem).toBe(20)
  }
})

test('a thousand titles are mostly different, short, and one line of Korean', () => {
  const rng = new Rng('titles')
  const titles = Array.from({ length: 1000 }, () => titleText(rng, rng.pick(topics)))
  expect(new Set(titles).size).toBeGreaterThan(800)
  for (const title of titles) {
    expect(title).toMatch(/^[^\n<>]{2,80}$/u)
    expect(title).toMatch(/[가-힣]/)
  }
  for (const part of [/ㅋㅋ/, /\?/, /!/, /[a-zA-Z]/, /\d/, /\p{Extended_Pictographic}/u]) {
    expect(
      titles.some((title) => part.test(title)),
      String(part),
    ).toBe(true)
  }
})

test('no title and no sentence compares a thing with itself', () => {
  const rng = new Rng('comparisons')
  for (let i = 0; i < 2000; i++) {
    const [, a, b] = /^(.+) vs (.+) 뭐가/.exec(titleText(rng, rng.pick(topics))) ?? []
    if (a !== undefined) expect(a).not.toBe(b)
  }
})

test('no punctuation follows a question mark', () => {
  const rng = new Rng('marks')
  for (let i = 0; i < 2000; i++) {
    expect(sentence(rng, rng.pick(topics), 'polite')).not.toMatch(/[?][.!~]/)
  }
})

test('a body has the requested length, closes its tags and contains its images', () => {
  const rng = new Rng('bodies')
  for (let i = 0; i < 200; i++) {
    const charsAim = rng.int(1, 3000)
    const imageCount = rng.int(0, 5)
    const html = bodyHtml(rng, rng.pick(topics), { charsAim, imageCount })
    const text = html.replace(/<[^>]*>/g, '').replaceAll('&nbsp;', '')
    expect(text.length).toBeGreaterThanOrEqual(charsAim)
    expect(html.match(/<img /g)?.length ?? 0).toBe(imageCount)
    for (const tag of ['p', 'a', 'b', 'span', 'blockquote']) {
      const opened = html.match(new RegExp(`<${tag}[ >]`, 'g'))?.length ?? 0
      expect(html.split(`</${tag}>`).length - 1, tag).toBe(opened)
    }
  }
})

test('a gallery always has the same topic, and one named after a topic has that topic', () => {
  expect(topicOf('baseball_new').name).toBe('baseball')
  expect(topicOf('my gallery')).toBe(topicOf('my gallery'))
})
