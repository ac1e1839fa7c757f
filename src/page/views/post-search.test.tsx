/** Post, before one is chosen: what is listed, and where it leads. */
import '../../../test/helpers/page-globals.js'
import { renderToString } from 'preact-render-to-string'
import { beforeEach, expect, test, vi } from 'vitest'
import { leftFixture, picksFixture } from '../../../test/helpers/page-fixtures.js'
import { responses } from '../../../test/helpers/page-queries.js'
import { badgesOf, labelled, rowsOf, textOf } from '../../../test/helpers/rendered-page.js'
import { setServerTime } from '../service/clock.js'
import { PostSearch } from './post-search.js'

const typed = vi.hoisted(() => ({ search: '' }))

vi.mock('../service/query.js', () => import('../../../test/helpers/page-queries.js'))
// No effect runs and nothing is typed while a view is rendered to a string.
vi.mock('./picks.js', async (importOriginal) => ({
  ...(await importOriginal<object>()),
  useSettled: () => typed.search,
}))

beforeEach(() => {
  typed.search = ''
  responses.clear()
  responses.set('/api/picks', {
    ...picksFixture,
    picks: picksFixture.picks.map((pick) => ({ ...pick, extracted_at: '2026-03-02T03:57:10Z' })),
  })
  responses.set('/api/left', leftFixture)
  setServerTime(Date.parse('2026-03-02T04:00:10Z'))
})

test('before anything is typed, the newest pending posts and those that left last are listed, with their titles', () => {
  const html = renderToString(<PostSearch />)
  expect(rowsOf(html, 'Newest pending posts')).toEqual([
    { Post: '첫째 g1 · 31', Extracted: '3 min ago', Rank: '5', Score: '0.812' },
    { Post: 'without a title g2 · 32', Extracted: '3 min ago', Rank: '–', Score: 'missing clock' },
  ])
  expect(rowsOf(html, 'Posts that left last')).toEqual([
    { Post: '나간 글 g3 · 61', Outcome: 'savedmain', 'Left with': '03-02 12:50' },
  ])
  expect(badgesOf(labelled(html, 'Posts that left last'))).toEqual(['ok saved', 'accent main'])
  expect(html).toContain('href="#/posts/g3/61"')
})

test('says how many posts were searched if none has left', () => {
  responses.set('/api/left', { posts: [], matching: 0, searched: 400 })
  expect(textOf(renderToString(<PostSearch />))).toContain('None of the last 400 posts that left matches.')
})

test('half of a surrogate pair in the search is the replacement character in addresses, and the view stays', () => {
  typed.search = ' g\ud83d/61 '
  const html = renderToString(<PostSearch />)
  expect(html).toContain('href="#/posts/g%EF%BF%BD/61"')
  expect(textOf(html)).toContain('나간 글')
})
