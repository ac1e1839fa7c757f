/** Report and comparison: each figure and interval is that of its label. All values of the fixture differ. */
import '../../../test/helpers/page-globals.js'
import { renderToString } from 'preact-render-to-string'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { responses } from '../../../test/helpers/page-queries.js'
import { reportFixture } from '../../../test/helpers/report-fixtures.js'
import {
  badgesOf,
  elementsOf,
  factsOf,
  labelled,
  rowsOf,
  textOf,
  tileOf,
} from '../../../test/helpers/rendered-page.js'
import type { Report as ReportData } from '../../contract/index.js'
import { reportDocument } from '../report-document.js'
import { Report } from './report.js'

vi.mock('../service/query.js', () => import('../../../test/helpers/page-queries.js'))

beforeEach(() => responses.clear())

function render(change: Partial<ReportData> = {}): string {
  responses.set('/api/report', { ...reportFixture, ...change })
  return renderToString(<Report />)
}

test('the window has its cycles, its days, and its ends in Korean time', () => {
  expect(textOf(render())).toMatch(
    /^Report 575 cycles on 2 days, 2026-03-02 00:05 to 2026-03-03 23:55 KST What the operators did/,
  )
})

test('each tile has its figures', () => {
  const html = render()
  expect(tileOf(html, 'What the operators did')).toEqual({
    figure: '301 saved of 9,001',
    Hidden: '302',
    Deleted: '303',
    'Aged out': '304',
    'Still pending': '305',
  })
  expect(tileOf(html, 'With the same budget: model (m-1)')).toEqual({
    figure: '83% of the saved posts found',
    Picks: '102',
    Saved: '103',
    'Hidden or deleted': '209',
    'Aged out': '106',
    'Earlier (median)': '11 min',
  })
  expect(textOf(labelled(html, 'In force'))).toBe(
    'In force 3 pairs of model / weights model-1 / weights-1 model-2 / weights-2 model-3 / weights-3',
  )
})

test('each order has the mean and the interval of each figure', () => {
  const rows = rowsOf(render(), /^Means with 95 % intervals/)
  const row = (order: string, tens: number, earlier: string): Record<string, string> => ({
    Order: order,
    'Ranked below a saved post': `${tens}1.1% ${tens}0.0 to ${tens}3.0`,
    'Saved posts found': `${tens}3.1% ${tens}2.0 to ${tens}5.0`,
    'Decided picks saved': `${tens}2.1% ${tens}1.0 to ${tens}4.0`,
    'Hidden or deleted': `${tens}4.1% ${tens}3.0 to ${tens}6.0`,
    Earlier: earlier,
  })
  expect(rows).toEqual([
    row('model (m-1)', 8, '11 min'),
    row('v-2', 7, '21 min'),
    row('by recommendations per view', 6, '31 min'),
  ])
})

test('the model and each version have a verdict against each order: difference, posts, and the days that it needs', () => {
  const html = render()
  const row = (
    order: string,
    against: string,
    difference: string,
    verdict: string,
    posts: string,
    days: string,
  ) => ({
    Order: order,
    Against: against,
    Difference: difference,
    Verdict: verdict,
    Posts: posts,
    'More days needed': days,
  })
  const model = 'model (m-1)'
  expect(rowsOf(html, /^Differences/)).toEqual([
    row(model, 'v-2', '+5.0 pp +3.9 to +6.2', 'better', '1,050', '–'),
    row(model, 'by views', '−4.0 pp −5.1 to −2.8', 'worse', '960', '–'),
    row(model, 'newest first', '+0.3 pp −0.8 to +1.5', 'cannot be told apart', '1,003', '17'),
    row(model, 'by recommendations', '–', 'nothing in common', '0', '–'),
    row('v-2', 'by views', '−9.0 pp −10.1 to −7.8', 'worse', '910', '–'),
  ])
  expect(badgesOf(labelled(html, 'Comparison'))).toEqual([
    ...['ok better', 'fail worse', 'plain cannot be told apart', 'plain nothing in common', 'fail worse'],
  ])
})

test('more than a year of days is not a number', () => {
  const [difference] = reportFixture.differences
  const days = (more_days: number | null): string | undefined => {
    const one = { ...difference!, verdict: 'cannot be told apart' as const, more_days }
    return rowsOf(render({ differences: [one] }), /^Differences/)[0]?.['More days needed']
  }
  expect([68_889, 366, 365, null].map(days)).toEqual(['more than a year', 'more than a year', '365', '–'])
})

test('without a save there is nothing to compare, and the rest is shown', () => {
  const html = render({
    visits: { ...reportFixture.visits, saved: 0 },
    rankers: reportFixture.rankers.map((one) => ({
      ...one,
      rank_percentile: { mean: null, n: 0, ci95: null },
    })),
  })
  expect(textOf(html)).toContain('the model has ranked no post that the operators saved.')
  expect(html).not.toContain('aria-label="Comparison"')
  expect(labelled(html, 'First scores')).toContain('<table')
})

test('each group has its figures', () => {
  expect(rowsOf(render(), 'Figures of the model by Gallery')).toEqual([
    {
      Gallery: 'g1',
      'Ranked below a saved post': '61.1% 60.1 to 63.1',
      'Saved posts found': '64%',
      'Decided picks saved': '63%',
      Saved: '602',
      Picked: '603',
      'Picked and saved': '604',
      Posts: '601',
    },
    {
      Gallery: 'unknown',
      'Ranked below a saved post': '–',
      'Saved posts found': '74%',
      'Decided picks saved': '–',
      Saved: '702',
      Picked: '703',
      'Picked and saved': '704',
      Posts: '701',
    },
  ])
})

test('the kinds of groups without visits are left out, and all but the first are closed', () => {
  const groups = labelled(render(), 'By group')
  expect(elementsOf(groups, 'summary')).toEqual(['Gallery', 'Tier', 'Hour of the decision (KST)'])
  expect(elementsOf(groups, 'table')).toHaveLength(1)
})

test('each order has its metrics by depth', () => {
  const row = (order: string, digit: number, hundreds: number, minutes: number) => ({
    Order: order,
    Cycles: String(hundreds + 8),
    'Top 10': `${digit}1%`,
    'Top 50': `${digit}2%`,
    'Top 100': `${digit}3%`,
    'NDCG 10': `0.${digit}04`,
    'NDCG 50': `0.${digit}05`,
    'AUC first': `0.${digit}06`,
    'AUC last': `0.${digit}07`,
    'AP last': `0.${digit}08`,
    'Earlier p10': `${minutes + 2} min`,
    p90: `${minutes + 3} min`,
  })
  expect(rowsOf(render(), /NDCG/)).toEqual([
    row('model (m-1)', 8, 100, 10),
    row('v-2', 7, 200, 20),
    row('by recommendations per view', 6, 300, 30),
  ])
})

test('placements have the medians of each picker by age, and the correlations', () => {
  const html = render()
  const counters = (...[views, up, down, comments]: readonly string[]) => ({
    views,
    recommendations: up,
    'down-votes': down,
    comments,
  })
  expect(rowsOf(html, /^700 placements/)).toEqual([
    {
      'Picked by': 'model m-1',
      Placements: '701',
      Hidden: '7.1%',
      Deleted: '7.2%',
      Age: '6 h',
      Readings: '702',
      ...counters('703', '704', '705', '706'),
    },
    {
      'Picked by': 'operator',
      Placements: '711',
      Hidden: '7.4%',
      Deleted: '7.3%',
      Age: '24 h',
      Readings: '712',
      ...counters('713', '–', '715', '716'),
    },
  ])
  expect(rowsOf(html, /^Spearman/)).toEqual([
    { Age: '48 h', Placements: '721', ...counters('0.11', '−0.12', '0.13', '0.14') },
  ])
  const outcomes = { placements: 0, by_picker: [], score_correlation: [] }
  expect(textOf(render({ outcomes }))).not.toContain('Placements')
})

describe('first scores', () => {
  test('have their counts and reasons', () => {
    expect(factsOf(labelled(render(), 'First scores'))).toEqual({
      'Share on time': '98.0%',
      Target: '99%',
      'on time': '8,001',
      late: '81',
      never: '82',
      'not counted': '83',
      'missing title': '91',
      'no cycle': '92',
    })
  })

  test('name the latest ones with their times', () => {
    const html = render()
    expect(rowsOf(html, 'The posts whose first score came latest')).toEqual([
      {
        Post: 'g1 · 11',
        Result: 'late',
        Reason: 'missing title',
        Extracted: '2026-03-02 01:00',
        Deadline: '2026-03-02 01:09',
        'First score': '2026-03-02 01:30',
        'Late by': '21 min',
      },
      {
        Post: 'g2 · 12',
        Result: 'never',
        Reason: 'no cycle',
        Extracted: '2026-03-02 02:00',
        Deadline: '2026-03-02 02:10',
        'First score': '–',
        'Late by': '2 h 30 min',
      },
    ])
    expect(badgesOf(labelled(html, 'First scores'))).toEqual(['warn late', 'fail never'])
  })

  test('have no table if all were on time', () => {
    const first_score = { ...reportFixture.first_score, worst: [] }
    expect(textOf(labelled(render({ first_score }), 'First scores'))).toMatch(
      /Every post had its first score on time\.$/,
    )
  })
})

describe('as a document', () => {
  const html = reportDocument(reportFixture, 'en')

  test('it has the figures of the page, every kind of group, and a title', () => {
    expect(html).toMatch(/^<!doctype html>\n<html lang="en">.*<\/html>\n$/s)
    expect(elementsOf(html, 'title')).toEqual(['Rehearsal 2026-03-02 00:05 to 2026-03-03 23:55 KST'])
    for (const caption of [/^Means with/, /^Differences/, /^700 placements/])
      expect(rowsOf(html, caption)).toEqual(rowsOf(render(), caption))
    expect(rowsOf(html, 'Figures of the model by Hour of the decision (KST)')).toMatchObject([
      { Posts: '901', Picked: '903' },
    ])
    expect(elementsOf(labelled(html, 'By group'), 'table')).toHaveLength(3)
  })

  test('it has every language, and opens in the chosen one', () => {
    const korean = reportDocument(reportFixture, 'ko')
    expect(korean).toMatch(/^<!doctype html>\n<html lang="ko">/)
    expect(elementsOf(korean, 'title')).toEqual(['예행 운영 2026. 3. 2. 00:05 ~ 2026. 3. 3. 23:55'])
    const chosen = (document: string): string[] =>
      [...document.matchAll(/<input[^>]*>/g)].flatMap(([input]) =>
        /\bchecked\b/.test(input) ? (/id="in-(\w+)"/.exec(input)?.[1] ?? '') : [],
      )
    expect([chosen(html), chosen(korean)]).toEqual([['en'], ['ko']])
    const bodies = (document: string): string[] => elementsOf(document, 'main')
    expect(bodies(korean)).toEqual(bodies(html))
    expect(rowsOf(bodies(html)[1] ?? '', /^평균과 95% 구간/)).toHaveLength(reportFixture.rankers.length)
  })

  test('it has no script, no link, and no text that is HTML', () => {
    const [late] = reportFixture.first_score.worst
    const worst = [{ ...late!, gall_id: '<script>x</script>' }]
    const first_score = { ...reportFixture.first_score, worst }
    const hostile = reportDocument({ ...reportFixture, first_score }, 'en')
    expect(hostile).toContain('&lt;script>x')
    expect(hostile).not.toMatch(/<script|<link|<a /)
  })
})

test('a store without cycles has no figures', () => {
  const window = { ...reportFixture.window, cycles: 0 }
  expect(textOf(render({ window }))).toMatch(
    /No cycle is stored yet\. The report compares .* have saved posts\.$/,
  )
})

describe('the line of a figure', () => {
  /** x positions of the figure's line, point and reference. */
  const drawn = (html: string, row: number): Record<string, number> => {
    const svg = [...html.matchAll(/<svg.*?<\/svg>/gs)].map(([text]) => text)[row] ?? ''
    const [, low, high] = /class="whisker" d="M([\d.]+) 8H([\d.]+)"/.exec(svg) ?? []
    const [, point] = /<circle cx="([\d.]+)"/.exec(svg) ?? []
    const [, reference] = /class="reference" d="M([\d.]+) /.exec(svg) ?? []
    return Object.fromEntries(
      Object.entries({ low, point, high, reference }).map(([name, x]) => [name, Math.round(Number(x))]),
    )
  }

  test('goes from the low to the high end, on one scale for all rows, which contains no difference', () => {
    const html = labelled(render(), 'Comparison')
    // From -10.1 to +6.2 points, and 5 % more on both sides, on 152 of 160 pixels; the axis of the table comes first.
    const x = (points: number): number => Math.round(4 + (152 * (points + 10.1 + 0.815)) / (16.3 + 1.63))
    expect(drawn(html, 1)).toEqual({ low: x(3.9), point: x(5), high: x(6.2), reference: x(0) })
    expect(drawn(html, 2)).toEqual({ low: x(-5.1), point: x(-4), high: x(-2.8), reference: x(0) })
  })
})

test('while the service reads its cycles, the page says how many and for how long', () => {
  responses.delete('/api/report')
  responses.set('/api/cycles', { instance: 'i', items: [], is_last: true, oldest: 11, newest: 298 })
  expect(textOf(renderToString(<Report />))).toBe('Report The service reads 288 cycles, for 0 s so far.')
})

test('of an empty service, the page does not say that it reads no cycles', () => {
  responses.delete('/api/report')
  responses.set('/api/cycles', { instance: 'i', items: [], is_last: true, oldest: 1, newest: 0 })
  expect(textOf(renderToString(<Report />))).toMatch(/^Report No cycle is stored yet\./)
})
