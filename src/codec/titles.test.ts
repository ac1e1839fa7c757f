/** The title of each candidate, as JSON.parse reads it. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bytesOf, candidate, cycleBody } from '../../test/helpers/bodies.js'
import { codecs } from '../../test/helpers/codecs.js'
import type { CycleRequest } from '../contract/index.js'

const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('제목 "x"', '\\', 'a\\"', '"title":"x"', '😀', '\u2028', '\u0000', '\ud800', ''),
)

const wrapped = (members: string): Buffer =>
  Buffer.from(
    JSON.stringify(cycleBody(0, { candidates: [candidate('g', 1, { title: 'TITLE' })] })).replace(
      '"title":"TITLE"',
      members,
    ),
  )

describe.each(codecs)('titles of the $name codec', (codec) => {
  test('whatever a title contains', () =>
    fc.assert(
      fc.property(
        fc.array(fc.tuple(text, text), { maxLength: 4 }),
        fc.constantFrom(0, 1),
        (posts, indent) => {
          const body = cycleBody(0, {
            candidates: posts.map(([title, body_html], row) =>
              candidate('title', row + 1, { title, body_html }),
            ),
          })
          const json = indent === 0 ? bytesOf(body) : Buffer.from(JSON.stringify(body, null, indent))
          const received = JSON.parse(json.toString()) as CycleRequest
          expect(codec.decodeCycle(json).candidates.titles).toEqual(
            received.candidates.map(({ title }) => title),
          )
        },
      ),
    ))

  test.each([
    ['a member of the same name that replaces it', '"title":"other","title":"last"', 'last'],
    ['a nested member before it', '"extra":{"title":"x"},"title":"right"', 'right'],
    ['a nested member after it', '"title":"right","extra":{"title":"wrong"}', 'right'],
    ['a key with an escape', '"\\u0074itle":"right","extra":{"title":"nested"}', 'right'],
    ['white space', '"title"\t:\r\n "spaced"', 'spaced'],
    ['escapes', '"title":"a\\u0041\\\\"', 'aA\\'],
  ])('%s', (_, members, title) => {
    expect(codec.decodeCycle(wrapped(members)).candidates.titles).toEqual([title])
  })

  test('of a list that replaces an earlier one', () => {
    const list = (title: string): string => `"candidates":${JSON.stringify([candidate('g', 1, { title })])}`
    const json = JSON.stringify(cycleBody(0, { candidates: [] }))
    const twice = json.replace('"candidates":[]', `${list('first')},${list('last')}`)
    expect(codec.decodeCycle(Buffer.from(twice)).candidates.titles).toEqual(['last'])
  })

  test('of one body do not show in the next one', () => {
    codec.decodeCycle(wrapped('"title":"long \\u0041 title with an escape"'))
    expect(codec.decodeCycle(wrapped('"title":"\\u0042"')).candidates.titles).toEqual(['B'])
  })
})
