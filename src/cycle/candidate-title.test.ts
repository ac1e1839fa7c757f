/** A title is cut out of a request as JSON.parse would read it. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bytesOf, candidate, cycleBody } from '../../test/helpers/bodies.js'
import { decodeCycle } from '../codec/index.js'
import { candidateTitle } from './candidate-title.js'

function titlesOf(json: Uint8Array): string[] {
  const { candidates } = decodeCycle(json)
  return Array.from({ length: candidates.count }, (_, row) => candidateTitle(json, candidates, row))
}

const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('제목 "x"', '\\', 'a\\"', '"title":"x"', '😀', '\u2028', ''),
)

test('whatever a title contains', () =>
  fc.assert(
    fc.property(fc.array(fc.tuple(text, text), { maxLength: 4 }), fc.constantFrom(0, 1), (posts, indent) => {
      const body = cycleBody(0, {
        candidates: posts.map(([title, body_html], row) => candidate('title', row + 1, { title, body_html })),
      })
      const json = indent === 0 ? bytesOf(body) : Buffer.from(JSON.stringify(body, null, indent))
      expect(titlesOf(json)).toEqual(posts.map(([title]) => title))
    }),
  ))

const wrapped = (members: string): Buffer =>
  Buffer.from(
    JSON.stringify(cycleBody(0, { candidates: [candidate('g', 1, { title: 'TITLE' })] })).replace(
      '"title":"TITLE"',
      members,
    ),
  )

test.each([
  ['a member of the same name that replaces it', '"title":"other","title":"last"', 'last'],
  ['one of the same length', '"title":"abcd","title":"last"', 'last'],
  ['a nested member before it', '"extra":{"title":"x"},"title":"right"', 'right'],
  ['a nested member after it', '"title":"right","extra":{"title":"wrong"}', 'right'],
  [
    'a key with an escape beside a nested member',
    '"\\u0074itle":"right","extra":{"title":"nested"}',
    'right',
  ],
  ['one of the same length', '"\\u0074itle":"right","extra":{"title":"wrong"}', 'right'],
  [
    'a key with an escape that replaces it, of the same length',
    '"title":"first","\\u0074itle":"right"',
    'right',
  ],
  ['white space', '"title"\t:\r\n "spaced"', 'spaced'],
  ['escapes', '"title":"a\\u0041\\\\"', 'aA\\'],
])('%s', (_, members, title) => {
  expect(titlesOf(wrapped(members))).toEqual([title])
})
