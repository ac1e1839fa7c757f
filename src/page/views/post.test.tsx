/** Post: each figure and time is that of its label. All values of the fixtures differ. */
import '../../../test/helpers/page-globals.js'
import { renderToString } from 'preact-render-to-string'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { postFixture } from '../../../test/helpers/page-fixtures.js'
import { responses } from '../../../test/helpers/page-queries.js'
import { explanationFixture } from '../../../test/helpers/report-fixtures.js'
import {
  badgesOf,
  elementsOf,
  labelled,
  rowsOf,
  textOf,
  tileOf,
} from '../../../test/helpers/rendered-page.js'
import { ApiError, type Post } from '../service/api.js'
import type { Explanation } from '../../contract/index.js'
import { cycleLabel } from '../format.js'
import { PostView } from './post.js'

vi.mock('../service/query.js', () => import('../../../test/helpers/page-queries.js'))

const path = '/api/posts/%EA%B0%A4/77'

function render(post: object, history: object): string {
  responses.set(path, post)
  responses.set(`${path}/history`, history)
  return renderToString(<PostView segments={['갤', '77']} />)
}

beforeEach(() => responses.clear())

const notFound = new ApiError(404, 'this post is not pending')

describe('a pending post', () => {
  const html = (change: Partial<Post> = {}): string =>
    render({ ...postFixture, ...change }, explanationFixture)

  test('has its title and its key', () => {
    expect(textOf(elementsOf(html(), 'header')[0] ?? '')).toBe('← Picks Find a post 대기 중 갤 · 77')
  })

  test('has its figures in tiles', () => {
    expect(tileOf(html(), 'Score')).toEqual({
      figure: '0.654 rank 9 of 210',
      'predicted views': '0.110',
      'predicted comments': '0.220',
      'predicted recommendations': '0.330',
      'predicted down-vote share': '0.044',
    })
    expect(tileOf(html(), 'Counters')).toEqual({
      figure: '54,321 views',
      Up: '61 (+6.1/h)',
      Down: '62 (−6.2/h)',
      Comments: '63',
      'Send-to-Best': '64 (+6.4/h)',
      Read: '2026-03-02 12:07',
    })
    expect(tileOf(html(), 'Origin')).toEqual({
      figure: '2 h 15 min old',
      Written: '2026-03-02 10:01',
      Extracted: '2026-03-02 10:11',
      Source: 'keyword',
      Images: '2 of 5',
    })
  })

  test('without a score says why', () => {
    const change = { score: null, status: 'not_scored', reason: 'missing_title' }
    expect(tileOf(html(change), 'Score')).toMatchObject({
      figure: '– rank 9 of 210',
      Status: 'missing title',
    })
  })

  test('has a timeline whose newest values are those of the newest cycle, whatever the order', () => {
    const figures = elementsOf(html({ timeline: [...postFixture.timeline].reverse() }), 'figure')
    const legend = (title: string): string[] =>
      elementsOf(figures.find((one) => one.includes(`<h3>${title}</h3>`)) ?? '', 'li').map(textOf)
    expect(['Score', 'Rank', 'Views', 'Counters'].map(legend)).toEqual([
      ...[['Score 0.720'], ['Rank 9'], ['views 7,200']],
      ['recommendations 721', 'comments 722', 'down-votes 723'],
    ])
  })

  test('has its images by position', () => {
    expect(
      [...labelled(html(), 'Images').matchAll(/src="([^"]*)" alt="([^"]*)"/g)].map((match) => match.slice(1)),
    ).toEqual([
      [`${path}/images/1?sha256=1111111111111111`, 'Image 1'],
      [`${path}/images/4?sha256=4444444444444444`, 'Image 4'],
    ])
  })

  test('that no stored cycle has yet lacks nothing', () => {
    expect(textOf(render(postFixture, notFound))).not.toContain(notFound.message)
    expect(textOf(render(postFixture, new ApiError(503, 'too busy')))).toContain('too busy')
  })

  test('has its text', () => {
    expect(textOf(labelled(html(), 'Text'))).toBe('Text As received 본문')
  })
})

describe('a post that has left', () => {
  const html = (change: Partial<Explanation> = {}): string =>
    render(notFound, { ...explanationFixture, ...change })

  test('is marked, and has the figures of its last visit', () => {
    expect(badgesOf(elementsOf(html(), 'header')[0] ?? '')).toEqual(['plain not pending'])
    expect(tileOf(html(), 'Outcome')).toEqual({
      figure: 'saved night',
      Decided: '2026-03-02 11:21',
      Reported: '2026-03-02 11:30',
    })
    expect(tileOf(html(), 'Last score')).toEqual({ figure: '0.543 rank 44 of 403', 'Scored in': '2 cycles' })
    expect(tileOf(html(), 'Last counters')).toEqual({
      figure: '12,345 views',
      Up: '21',
      Down: '22',
      Comments: '23',
      'Send-to-Best': '24',
      Read: '2026-03-02 11:02',
    })
    expect(tileOf(html(), 'Origin')).toEqual({
      figure: 'vote',
      Written: '2026-03-02 10:01',
      Extracted: '2026-03-02 10:11',
      Pending: '1 h 10 min',
      Images: '1 of 6',
    })
  })

  test('whose record has expired says so', () => {
    expect(textOf(html({ candidate: null }))).toContain('Title and text of this post expired')
  })
})

describe('the visits', () => {
  const html = (): string => render(postFixture, explanationFixture)

  test('have their cycles, outcomes and times', () => {
    expect(rowsOf(html(), /^Stays of the post/)).toEqual([
      {
        Visit: '1',
        'Entered with': 'an expired cycle',
        'Left with': '03-01 10:05',
        Outcome: 'aged out',
        Tier: '–',
        Decided: '2026-03-01 10:01',
      },
      {
        Visit: '2 (shown below)',
        'Entered with': '03-02 10:15',
        'Left with': '03-02 11:30',
        Outcome: 'saved',
        Tier: 'night',
        Decided: '2026-03-02 11:21',
      },
    ])
    expect(badgesOf(labelled(html(), 'Visits'))).toEqual(['plain aged out', 'ok saved'])
  })

  test('have the score and the rank of each cycle, newest first', () => {
    const row = (cycle: string, status: string, score: string, rank: string, of: number) => ({
      Cycle: cycle,
      Status: status,
      Score: score,
      Rank: `${rank} of ${of}`,
      Model: `m-${of}`,
      Weights: `w-${of}`,
    })
    expect(rowsOf(html(), /^Score and rank by cycle/)).toEqual([
      row('03-02 10:25', 'scored', '0.5432', '44', 403),
      row('03-02 10:20', 'scored', '0.4321', '33', 402),
      row('03-02 10:15', 'missing clock', '–', '–', 401),
    ])
  })
})

test('of many cycles, the newest 48 are listed', () => {
  const [first] = explanationFixture.cycles
  const cycles = Array.from({ length: 50 }, (_, index) => ({
    ...first!,
    cycle_id: `20260302T${10 + Math.floor(index / 12)}${String((index % 12) * 5).padStart(2, '0')}`,
  }))
  const rows = rowsOf(render(postFixture, { ...explanationFixture, cycles }), /^Score and rank by cycle/)
  expect(rows.map(({ Cycle }) => Cycle)).toEqual(
    cycles
      .slice(2)
      .reverse()
      .map(({ cycle_id }) => cycleLabel(cycle_id)),
  )
})

describe('the explanation', () => {
  const panel = (change: Partial<NonNullable<Explanation['explained']>> = {}): string => {
    const explained = { ...explanationFixture.explained!, ...change }
    return labelled(render(postFixture, { ...explanationFixture, explained }), 'Why this score')
  }

  test('names its cycle, score and weights', () => {
    expect(textOf(panel())).toContain(
      'Cycle 03-02 10:25, score 0.5432. Weights: views 1.5, comments 0.25, recommendations 0.75, down-vote share 0.1.',
    )
  })

  test('has for each input the effect of its value against the median, or against none', () => {
    const row = (input: string, ...cells: readonly [string, string, string, string, string]) => ({
      Input: input,
      Value: cells[0],
      Median: cells[1],
      Percentile: cells[2],
      Effect: cells[3],
      'Over missing': cells[4],
    })
    expect(rowsOf(panel(), /^Inputs of the model/)).toEqual([
      row('views', '12.3K', '1,409', '87%', '+0.0812', '+0.1234'),
      row('age', '12 h', '5 h', '12%', '−0.0345', '–'),
      row('text, as the model reads it', 'present', '–', '–', '+0.0456', '+0.0456'),
      row('admin snapshot: recommendations over the baseline', 'missing', '3.5', '–', '−0.0567', '–'),
    ])
  })

  test('draws what raises the score to the right, what lowers it to the left, and the largest as half of the bar', () => {
    const bars = [...panel().matchAll(/style="width:\s*([\d.]+)%;\s*left:\s*([\d.]+)%/g)].map((match) =>
      match.slice(1).map((text) => Math.round(Number(text))),
    )
    expect(bars).toEqual([
      [50, 50],
      [21, 29],
      [28, 50],
      [35, 15],
    ])
  })

  test('draws the largest effect as half of the bar also if it lowers the score', () => {
    const [raises, lowers] = explanationFixture.explained!.inputs
    const width = /style="width:\s*([\d.]+)%/g
    const html = panel({
      inputs: [
        { ...lowers!, over_median: -0.4 },
        { ...raises!, over_median: 0.1 },
      ],
    })
    expect([...html.matchAll(width)].map(([, percent]) => Number(percent))).toEqual([50, 12.5])
  })

  test('says why it cannot be computed', () => {
    expect(textOf(panel({ problem: 'the request has expired' }))).toContain(
      'The effects of the inputs cannot be computed: the request has expired',
    )
  })
})
