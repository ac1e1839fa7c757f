/**
 * Generated texts: varied, and well-formed HTML.
 */
import { expect, test } from 'vitest'
import { bodyHtml, titleText, topicOf, topics } from './korean-text.js'
import { Rng } from './rng.js'

test('a thousand titles are mostly different, short, and one line of Korean', () => {
  const rng = new Rng('titles')
  const titles = Array.from({ length: 1000 }, () => titleText(rng, rng.pick(topics)))
  expect(new Set(titles).size).toBeGreaterThan(800)
  for (const title of titles) {
    expect(title).toMatch(/^[^\n<>]{2,80}$/u)
    expect(title).toMatch(/[가-힣]/)
    expect(title, 'a name that no list has').not.toMatch(/[{}]/)
  }
  for (const part of [/ㅋㅋ/, /\?/, /!/, /[a-zA-Z]/, /\d/, /\p{Extended_Pictographic}/u]) {
    expect(
      titles.some((title) => part.test(title)),
      String(part),
    ).toBe(true)
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
