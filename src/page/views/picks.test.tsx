/** Picks: each column of a post and of a save is that of its label. All values of the fixture differ. */
import '../../../test/helpers/page-globals.js'
import { h } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { picksFixture } from '../../../test/helpers/page-fixtures.js'
import { plainRows } from '../../../test/helpers/page-rows.js'
import { responses } from '../../../test/helpers/page-queries.js'
import { badgesOf, labelled, rowsOf, textOf } from '../../../test/helpers/rendered-page.js'
import { setServerTime } from '../service/clock.js'
import type { Picks as PickList } from '../service/api.js'
import { Picks } from './picks.js'

vi.mock('../service/query.js', () => import('../../../test/helpers/page-queries.js'))
vi.mock('../parts/virtual-table.js', () => plainRows(h))

beforeEach(() => {
  vi.useFakeTimers({ now: 0 })
  setServerTime(Date.parse('2026-03-02T04:00:10Z'))
  return () => vi.useRealTimers()
})

function render(change: Partial<PickList> = {}): string {
  responses.set('/api/picks', { ...picksFixture, ...change })
  return renderToString(<Picks />)
}

test('each pending post has its columns', () => {
  const html = render()
  expect(rowsOf(html, 'Pending posts by rank')).toEqual([
    {
      Rank: '5',
      Post: '첫째g1 · 313 h 42 min · 12.3K views · 43 comments',
      Score: '0.812',
      Predictions: '',
      Age: '3 h 42 min',
      Views: '12.3K+1,250/h',
      Up: '41+4.1/h',
      Down: '42−4.2/h',
      Comments: '43',
    },
    {
      Rank: '–',
      Post: 'without a titleg2 · 32– · – views · – comments',
      Score: 'missing clock',
      Predictions: '',
      Age: '–',
      Views: '–',
      Up: '–',
      Down: '–',
      Comments: '–',
    },
  ])
  expect(html).toContain('src="/api/posts/g1/31/images/2?sha256=2222222222222222"')
  expect(html).toContain('href="#/posts/g1/31"')
})

test('each row is the one at its place, also in a window that begins later', () => {
  const rows = rowsOf(render({ offset: 1, matching: 4 }), 'Pending posts by rank')
  expect(rows.map(({ Rank, Score }) => `${Rank} ${Score}`)).toEqual([
    ...['pending pending', '5 0.812', '– missing clock', 'pending pending'],
  ])
})

test('the legend has the name and the colour of each bar, which no other has', () => {
  const legend = labelled(render(), 'Predictions')
  const colors = [...render().matchAll(/width:\s*[\d.]+%;\s*background:\s*var\(--color-(\d)\)/g)].map(
    ([, color]) => color,
  )
  expect([...legend.matchAll(/--color-(\d)/g)].map(([, color]) => color)).toEqual(colors)
  expect(new Set(colors).size).toBe(4)
  expect(textOf(legend)).toBe(
    'predicted views predicted comments predicted recommendations predicted down-vote share',
  )
})

test('each head has its value, and a bar of its share', () => {
  const heads = [...render().matchAll(/aria-label="([^"]*)" title="[^"]*"><span style="width:\s*([\d.]+)%/g)]
  expect(heads.map(([, text, width]) => [text, Number(width)])).toEqual([
    ...[
      ['predicted views 0.150', 15],
      ['predicted comments 0.250', 25],
      ['predicted recommendations 0.350', 35],
      ['predicted down-vote share 0.045', 4.5],
    ],
  ])
})

describe('the note', () => {
  const note = (change: Partial<PickList> = {}): string =>
    textOf(/<p class="muted list-note">.*?<\/p>/s.exec(render(change))?.[0] ?? '')

  test('has the matching and pending posts, and the source of the scores', () => {
    expect(note()).toBe('2 of 4,321 pending, 4,100 scored in 03-02 12:55 by serving-7')
    expect(note({ matching: 4321, picks: [] })).toBe(
      '4,321 pending, 4,100 scored in 03-02 12:55 by serving-7',
    )
    expect(note({ cycle_id: null })).toBe('2 of 4,321 pending, no scores yet')
  })

  test('is followed by why there is no post', () => {
    expect(textOf(render({ matching: 0 }))).toContain('No pending post matches.')
    expect(textOf(render({ matching: 0, pending: 0 }))).toContain('No post is pending.')
  })
})

test('each save has its cycle, its tier, and the rank and score before it', () => {
  const html = render()
  expect(rowsOf(html, 'Posts that operators saved, newest first')).toEqual([
    { Post: '저장된 글 g1 · 51 03-02 12:50', Tier: 'main', Rank: '6 of 901', Score: '0.777' },
    { Post: 'without a title g2 · 52 03-02 12:45', Tier: '–', Rank: '– of 902', Score: '–' },
  ])
  const saves = labelled(html, 'Latest saves')
  expect(badgesOf(saves)).toEqual(['accent main'])
  expect(textOf(saves)).toContain('Recorded since 11:00 KST')
})
