/** The report as text and as a page: each figure and interval is that of its label. All values of the fixture differ. */
import { describe, expect, test } from 'vitest'
import { elementsOf, textOf } from '../../../test/helpers/rendered-page.js'
import type { Difference, Estimate, Evaluation, RankerFigures } from '../../history/index.js'
import { reportHtml } from './report-html.js'
import { rankerTable, reportTables } from './tables.js'
import { differenceSentence, pickSentences, windowSentence } from './wording.js'

/** An interval that ends before and after the value, as no other one does. */
const estimate = (value: number, n: number): Estimate => ({ value, n, ci95: [value - 0.01, value + 0.02] })

function ranker(name: string, base: number, hundreds: number): RankerFigures {
  return {
    ...{ name, versions: [], cycles: hundreds + 1, withoutNegatives: 0 },
    rankPercentile: estimate(base + 0.001, 1),
    savedInTop: { 10: estimate(base + 0.01, 1), 50: estimate(base + 0.02, 1), 100: estimate(base + 0.03, 1) },
    ndcg: { 10: estimate(base + 0.004, 1), 50: estimate(base + 0.005, 1) },
    ...{ aucFirst: base + 0.006, aucLast: base + 0.007, averagePrecisionLast: base + 0.008 },
    sameBudget: {
      picks: 1000 + hundreds,
      byFate: { saved: 41, hidden: 42, deleted: 43, aged_out: 44, open: 45 },
      precision: estimate(base + 0.04, 1),
      recall: estimate(base + 0.05, 1),
      harm: estimate(base + 0.06, 1),
      leadMinutes: { p10: hundreds / 100 + 10, p50: hundreds / 100 + 50, p90: hundreds / 100 + 90 },
    },
  }
}

const fromMs = Date.parse('2026-03-01T15:05:00Z')
const toMs = Date.parse('2026-03-03T14:55:00Z')
const group = (value: string | null, base: number, n: number) => ({
  ...{ value, visits: n + 1, saved: n + 2, picks: n + 3, pickedSaved: n + 4 },
  ...{ rankPercentile: estimate(base, 1), precision: base + 0.03, recall: base + 0.04 },
})

const evaluation: Evaluation = {
  window: { fromMs, toMs, cycles: 1575, days: 2, unit: 'day', versions: ['m-1 / w-1', 'm-2 / w-2'] },
  visits: {
    total: 9001,
    saved: 301,
    hidden: 302,
    deleted: 303,
    aged_out: 304,
    open: 305,
    unranked_saved: 306,
  },
  rankers: [ranker('model', 0.8, 100), ranker('shadow:v-2', 0.7, 200), ranker('up', 0.5, 300)],
  differences: [],
  firstScore: {
    ...{ on_time: 8001, late: 81, never: 82, excluded: 83, share: 0.98, target: 0.99 },
    reasons: { missing_title: 91, no_cycle: 92 },
    worst: [
      {
        ...{ gallId: 'g1', postNo: 11, result: 'late', reason: 'missing_title', minutesLate: 21 },
        ...{ extractedMs: fromMs + 60_000, deadlineMs: fromMs + 600_000, firstMs: fromMs + 1_860_000 },
      },
      {
        ...{ gallId: 'g2', postNo: 12, result: 'never', reason: 'no_cycle', minutesLate: 150 },
        ...{ extractedMs: fromMs + 120_000, deadlineMs: fromMs + 1_200_000, firstMs: null },
      },
    ],
  },
  outcomes: {
    placements: 700,
    by_picker: [
      {
        ...{
          picked_by: 'model',
          model_version: 'm-1',
          placements: 701,
          hidden_share: 0.071,
          deleted_share: 0.072,
        },
        ages: [{ age_h: 6, n: 702, views: 703, up: 704, down: 705, comment_cnt: 706 }],
      },
      {
        ...{
          picked_by: 'operator',
          model_version: null,
          placements: 711,
          hidden_share: null,
          deleted_share: 0.073,
        },
        ages: [{ age_h: 24, n: 712, views: 713, up: null, down: 715, comment_cnt: 716 }],
      },
    ],
    score_correlation: [
      { age_h: 1, n: 0, views: null, up: null, down: null, comment_cnt: null },
      { age_h: 48, n: 721, views: 0.11, up: -0.12, down: 0.13, comment_cnt: 0.14 },
    ],
  } as Evaluation['outcomes'],
  by: {
    gallery: [group('g1', 0.61, 610), group(null, 0.62, 620)],
    tier: [group('main', 0.63, 630)],
    ...{ source: [], gallery_type: [], hour: [group('07', 0.64, 640)], version: [] },
  },
}

/** The rows of a table by its columns. */
function table(title: string): Record<string, string>[] {
  const found = [rankerTable(evaluation), ...reportTables(evaluation)].find((one) => one.title === title)
  if (found === undefined) throw new Error(`no table ${title}`)
  return found.rows.map((row) => Object.fromEntries(found.head.map((name, i) => [name, row[i] ?? ''])))
}

describe('the sentences', () => {
  test('name the window in Korean time, and the combinations that it mixes', () => {
    expect(windowSentence(evaluation)).toBe(
      '1,575 cycles on 2 days, 2026-03-02 00:05 to 2026-03-03 23:55 KST. Model / weights: m-1 / w-1, m-2 / w-2. ' +
        '2 combinations of model and weights were in force; the figures of "model" combine them: see the table by version.',
    )
    const one = { ...evaluation.window, days: 1, versions: ['m-1 / w-1'] }
    expect(windowSentence({ ...evaluation, window: one })).toMatch(/on 1 day, .*: m-1 \/ w-1\.$/)
  })

  test('say what happened to the posts, and what the model would have picked', () => {
    expect(pickSentences(evaluation)).toEqual([
      '9,001 posts were pending. The operators saved 301, hid 302 and deleted 303; 304 aged out, 305 are still pending.',
      'With as many picks in each cycle as the operators, the model would have picked 1,100 posts:',
      '  41 of those that the operators saved: 85 % (84 to 87), half of them at least 51 min earlier;',
      '  85 that were hidden or deleted: 86.0 % (85.0 to 88.0) of its decided picks;',
      '  44 that aged out, and 45 that are still pending.',
    ])
  })

  const difference = (mean: number, verdict: Difference['verdict'], more_days: number | null): string =>
    differenceSentence({
      ...{ a: 'model', b: 'newest', n: 5, mean, verdict, more_days },
      ci95: [mean - 0.01, mean + 0.02],
    })

  test('state a difference with its own interval, positive in the direction of its verdict', () => {
    expect(difference(0.05, 'better', 0)).toBe(
      'The model ranks the saved posts better than listing the newest first: 5.0 points, 95 % interval 4.0 to 7.0. ' +
        'The difference is significant.',
    )
    expect(difference(-0.05, 'worse', 0)).toMatch(
      /worse than listing the newest first: 5\.0 points, 95 % interval 3\.0 to 6\.0\. The difference is significant\.$/,
    )
    expect(difference(0.005, 'cannot be told apart', 17)).toMatch(
      /cannot be told apart: 0\.5 points, 95 % interval -0\.5 to 2\.5\. If it persists, about 17 more days are needed/,
    )
    expect(difference(0, 'cannot be told apart', null)).toMatch(/More days would not change this\.$/)
    expect(difference(0, null, null)).toMatch(/cannot be compared/)
  })
})

describe('the tables', () => {
  test('of the orders have each mean with its own interval', () => {
    const row = (order: string, tens: number, earlier: string) => ({
      'order of the posts': order,
      'ranked below a saved post': `${tens}0 % (${tens - 1}9 to ${tens}2)`,
      'saved posts found': `${tens}5 % (${tens}4 to ${tens}7)`,
      'decided picks saved': `${tens}4 % (${tens}3 to ${tens}6)`,
      'hidden or deleted': `${tens}6.0 % (${tens}5.0 to ${tens}8.0)`,
      'earlier (median)': earlier,
    })
    expect(table('Orders compared')).toEqual([
      row('model', 8, '51 min'),
      row('v-2', 7, '52 min'),
      row('recommendations', 5, '53 min'),
    ])
  })

  test('of the metrics have each depth and each area', () => {
    const row = (order: string, digit: number, n: number) => ({
      ...{
        order,
        cycles: `${n}01`,
        'top 10': `${digit}1 %`,
        'top 50': `${digit}2 %`,
        'top 100': `${digit}3 %`,
      },
      ...{ 'NDCG 10': `0.${digit}04`, 'NDCG 50': `0.${digit}05`, 'AUC first': `0.${digit}06` },
      ...{
        'AUC last': `0.${digit}07`,
        'AP last': `0.${digit}08`,
        'earlier p10': `${10 + n} min`,
        p90: `${90 + n} min`,
      },
    })
    expect(table('Ranking metrics')).toEqual([
      row('model', 8, 1),
      row('v-2', 7, 2),
      row('recommendations', 5, 3),
    ])
  })

  test('of the groups have the figures of each group', () => {
    const row = (kind: string, value: string, tens: string, n: number) => ({
      ...{ [kind]: value, posts: String(n + 1), saved: String(n + 2), picks: String(n + 3) },
      'ranked below a saved post': tens,
      ...{ found: `${n / 10 + 4} %`, 'decided picks saved': `${n / 10 + 3} %` },
    })
    expect(table('The model by gallery')).toEqual([
      row('gallery', 'g1', '61 % (60 to 63)', 610),
      row('gallery', 'unknown', '62 % (61 to 64)', 620),
    ])
    expect(table('The model by tier')).toEqual([row('tier', 'main', '63 % (62 to 65)', 630)])
    expect(table('The model by hour of the decision (KST)')).toEqual([
      row('hour of the decision (KST)', '07', '64 % (63 to 66)', 640),
    ])
  })

  test('of the first scores have the counts and the latest posts in Korean time', () => {
    const { note } = reportTables(evaluation).find(({ title }) => title === 'First score within two cycles')!
    expect(note).toBe(
      '98.0 % on time, target 99 %: 8,001 on time, 81 late, 82 never, 83 excluded. Reasons: missing_title 91, no_cycle 92.',
    )
    const row = (post: string, ...cells: readonly string[]) =>
      Object.fromEntries(
        [
          'latest of the late first scores',
          'extracted (KST)',
          'deadline',
          'first score',
          'late by',
          'reason',
        ].map((name, i) => [name, [post, ...cells][i]]),
      )
    const day = '2026-03-02'
    expect(table('First score within two cycles')).toEqual([
      row('g1/11', `${day} 00:06`, `${day} 00:15`, `${day} 00:36`, '21 min', 'missing_title'),
      row('g2/12', `${day} 00:07`, `${day} 00:25`, 'never', '2.5 h', 'no_cycle'),
    ])
  })

  test('of the outcomes have the medians and the correlations by age', () => {
    expect(table('Placements: medians of the counters by age')).toEqual([
      {
        ...{ 'picked by': 'model m-1', placements: '701', hidden: '7.1 %', deleted: '7.2 %', age: '6 h' },
        ...{ readings: '702', views: '703', up: '704', down: '705', comment_cnt: '706' },
      },
      {
        ...{ 'picked by': 'operator', placements: '711', hidden: '–', deleted: '7.3 %', age: '24 h' },
        ...{ readings: '712', views: '713', up: '–', down: '715', comment_cnt: '716' },
      },
    ])
    expect(table('Score at placement and later counters')).toEqual([
      { age: '48 h', placements: '721', views: '0.11', up: '-0.12', down: '0.13', comment_cnt: '0.14' },
    ])
  })
})

describe('the page', () => {
  const html = reportHtml(evaluation)
  /** Per line of a plot: label, shown value, and the value of each end by its position. */
  const plot = (title: string): string[] => {
    const svg = html.split(`<h2>${title}</h2>`)[1]?.split('</svg>')[0] ?? ''
    const ticks = [...svg.matchAll(/<text x="([\d.]+)" y="\d+" text-anchor="middle"[^>]*>([\d.]+) %/g)]
    const [x0, x4] = [Number(ticks[0]?.[1]), Number(ticks[4]?.[1])]
    const [low, high] = [Number(ticks[0]?.[2]), Number(ticks[4]?.[2])]
    const valueAt = (x: string | undefined): string =>
      (low + ((Number(x) - x0) * (high - low)) / (x4 - x0)).toFixed(0)
    return [
      ...svg.matchAll(
        /text-anchor="end">([^<]*)<\/text><line x1="([\d.]+)" x2="([\d.]+)".*?<circle cx="([\d.]+)".*?<text[^>]*>([^<]*)</g,
      ),
    ].map(
      ([, label, from, to, at, shown]) =>
        `${label} ${shown}: ${valueAt(at)} (${valueAt(from)} to ${valueAt(to)})`,
    )
  }

  test('has the sentences, and a plot for each of three figures and two groups', () => {
    expect(textOf(elementsOf(html, 'h1')[0] ?? '')).toBe('Rehearsal 2026-03-02 00:05 to 2026-03-03 23:55 KST')
    expect(elementsOf(html, 'p').map(textOf).slice(0, 2)).toEqual([
      windowSentence(evaluation),
      pickSentences(evaluation)[0],
    ])
    expect(plot('Posts ranked below a saved post')).toEqual([
      ...['model 80 %: 80 (79 to 82)', 'v-2 70 %: 70 (69 to 72)', 'recommendations 50 %: 50 (49 to 52)'],
    ])
    expect(plot('Saved posts found with the same budget')).toEqual([
      ...['model 85 %: 85 (84 to 87)', 'v-2 75 %: 75 (74 to 77)', 'recommendations 55 %: 55 (54 to 57)'],
    ])
    expect(plot('Picks that were hidden or deleted')).toEqual([
      ...['model 86 %: 86 (85 to 88)', 'v-2 76 %: 76 (75 to 78)', 'recommendations 56 %: 56 (55 to 58)'],
    ])
    expect(plot('The model by gallery: posts ranked below a saved post')).toEqual([
      ...['g1 61 %: 61 (60 to 63)', 'unknown 62 %: 62 (61 to 64)'],
    ])
    expect(plot('The model by hour of the decision (KST)')).toEqual(['07 64 %: 64 (63 to 66)'])
  })
})
