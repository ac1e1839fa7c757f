/** The addresses of the page, which operators keep and edit by hand. */
import { expect, test } from 'vitest'
import { parseHash, postAddress } from './router.js'

test.each([
  ['', 'now', []],
  ['#/', 'now', []],
  ['#/picks', 'picks', []],
  ['#models/', 'models', []],
  ['#/posts/g/12', 'posts', ['g', '12']],
  ['#/posts//12', 'posts', ['12']],
  ['#/nothing/x', 'now', ['x']],
  ['#/posts/%E0%A4%A/1', 'posts', ['%E0%A4%A', '1']],
] as const)('%s is the view %s', (hash, view, segments) => {
  expect(parseHash(hash)).toEqual({ view, segments })
})

test('the address of a post leads to it, whatever its gallery is called', () => {
  for (const gallId of ['g', 'a/b', '%', '한국', '#?&'])
    expect(parseHash(postAddress(gallId, 12))).toEqual({ view: 'posts', segments: [gallId, '12'] })
})
