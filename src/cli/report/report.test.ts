/** The report as text: each figure and interval is that of its label. All values of the fixture differ. */
import { describe, expect, test } from 'vitest'
import { reportFixture } from '../../../test/helpers/report-fixtures.js'
import type { Difference } from '../../contract/index.js'
import { rankerTable, reportTables } from './tables.js'
import { differenceSentence, pickSentences, windowSentence } from './wording.js'

/** The rows of a table by its columns. */
function table(title: string): Record<string, string>[] {
  const match = [rankerTable(reportFixture), ...reportTables(reportFixture)].find(
    (one) => one.title === title,
  )
  if (match === undefined) throw new Error(`no table ${title}`)
  return match.rows.map((row) => Object.fromEntries(match.head.map((name, i) => [name, row[i] ?? ''])))
}

describe('the sentences', () => {
  test('name the window in Korean time and the combinations that it mixes', () => {
    expect(windowSentence(reportFixture)).toBe(
      '575 cycles on 2 days, 2026-03-02 00:05 to 2026-03-03 23:55 KST. ' +
        'Model / weights: model-1 / weights-1, model-2 / weights-2, model-3 / weights-3. 3 combinations of model and weights were in force; the figures of "model" combine them: see the table by version.',
    )
    const one = { ...reportFixture.window, cycles: 1, days: 1, versions: ['m-1 / w-1'] }
    expect(windowSentence({ ...reportFixture, window: one })).toMatch(/^1 cycle on 1 day, .*: m-1 \/ w-1\.$/)
  })

  test('say what happened to the posts, and what the model would have picked', () => {
    expect(pickSentences(reportFixture)).toEqual([
      '9,001 posts were pending. The operators saved 301, hid 302 and deleted 303; 304 aged out, 305 are still pending.',
      'With as many picks in each cycle as the operators, the model would have picked 102 posts. ' +
        '418 of these 102 picks are decided; 107 are still pending.',
      '  103 were saved (82 % (81 to 84) of the decided picks, 83 % (82 to 85) of all saved posts), half of them at least ' +
        '11 min before the operators;',
      '  209 were hidden or deleted (84.1 % (83.0 to 86.0) of the decided picks); 106 aged out.',
    ])
  })

  test('are in the singular for one post', () => {
    const visits = { ...reportFixture.visits, total: 1, open: 1 }
    expect(pickSentences({ ...reportFixture, visits })[0]).toMatch(
      /^1 post was pending\. .* 1 is still pending\.$/,
    )
  })

  const difference = (mean: number, verdict: Difference['verdict'], more_days: number | null): string =>
    differenceSentence({
      a: 'model',
      b: 'newest',
      n: 5,
      mean,
      verdict,
      more_days,
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
    expect(difference(0.005, 'cannot be told apart', 365)).toMatch(/about 365 more days are needed/)
    expect(difference(0.005, 'cannot be told apart', 366)).toMatch(/needs more than another year\.$/)
    expect(difference(0, 'cannot be told apart', null)).toMatch(/More days would not change this\.$/)
    expect(difference(0, null, null)).toMatch(/cannot be compared/)
  })
})

describe('the tables', () => {
  test('of the orders have each mean with its own interval', () => {
    const row = (order: string, tens: number, earlier: string) => ({
      'order of the posts': order,
      'ranked below a saved post': `${tens}1 % (${tens}0 to ${tens}3)`,
      'saved posts found': `${tens}3 % (${tens}2 to ${tens}5)`,
      'decided picks saved': `${tens}2 % (${tens}1 to ${tens}4)`,
      'hidden or deleted': `${tens}4.1 % (${tens}3.0 to ${tens}6.0)`,
      'earlier (median)': earlier,
    })
    expect(table('Orders compared')).toEqual([
      row('model', 8, '11 min'),
      row('v-2', 7, '21 min'),
      row('recommendations per view', 6, '31 min'),
    ])
  })

  test('of the metrics have each depth and each area', () => {
    const row = (order: string, digit: number, n: number) => ({
      order,
      cycles: `${n}08`,
      'top 10': `${digit}1 %`,
      'top 50': `${digit}2 %`,
      'top 100': `${digit}3 %`,
      'NDCG 10': `0.${digit}04`,
      'NDCG 50': `0.${digit}05`,
      'AUC first': `0.${digit}06`,
      'AUC last': `0.${digit}07`,
      'AP last': `0.${digit}08`,
      'earlier p10': `${10 * n + 2} min`,
      p90: `${10 * n + 3} min`,
    })
    expect(table('Ranking metrics')).toEqual([
      row('model', 8, 1),
      row('v-2', 7, 2),
      row('recommendations per view', 6, 3),
    ])
  })

  test('of the groups have the figures of each group', () => {
    const row = (
      kind: string,
      value: string,
      n: number,
      figures: readonly [ranked: string, found: string, saved: string],
    ) => ({
      [kind]: value,
      posts: String(n + 1),
      saved: String(n + 2),
      picks: String(n + 3),
      'picks saved': String(n + 4),
      'ranked below a saved post': figures[0],
      found: figures[1],
      'decided picks saved': figures[2],
    })
    expect(table('The model by gallery')).toEqual([
      row('gallery', 'g1', 600, ['61 % (60 to 63)', '64 %', '63 %']),
      row('gallery', 'unknown', 700, ['–', '74 %', '–']),
    ])
    expect(table('The model by tier')).toEqual([
      row('tier', 'main', 800, ['81 % (80 to 83)', '84 %', '83 %']),
    ])
    expect(table('The model by hour of the decision (KST)')).toEqual([
      row('hour of the decision (KST)', '07', 900, ['91 % (90 to 93)', '94 %', '93 %']),
    ])
  })

  test('of the first scores have the counts and the latest posts in Korean time', () => {
    const { note } = reportTables(reportFixture).find(
      ({ title }) => title === 'First score within two cycles',
    )!
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
      row('g1/11', `${day} 01:00`, `${day} 01:09`, `${day} 01:30`, '21 min', 'missing_title'),
      row('g2/12', `${day} 02:00`, `${day} 02:10`, 'never', '2.5 h', 'no_cycle'),
    ])
  })

  test('of the outcomes have the medians and the correlations by age', () => {
    expect(table('Placements: medians of the counters by age')).toEqual([
      {
        'picked by': 'model m-1',
        placements: '701',
        hidden: '7.1 %',
        deleted: '7.2 %',
        age: '6 h',
        readings: '702',
        views: '703',
        up: '704',
        down: '705',
        comment_cnt: '706',
      },
      {
        'picked by': 'operator',
        placements: '711',
        hidden: '7.4 %',
        deleted: '7.3 %',
        age: '24 h',
        readings: '712',
        views: '713',
        up: '–',
        down: '715',
        comment_cnt: '716',
      },
    ])
    expect(table('Score at placement and later counters')).toEqual([
      { age: '48 h', placements: '721', views: '0.11', up: '-0.12', down: '0.13', comment_cnt: '0.14' },
    ])
  })
})
