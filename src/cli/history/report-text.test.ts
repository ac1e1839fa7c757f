/** The report as text: each figure and interval is that of its label. All values of the fixture differ. */
import { describe, expect, test } from 'vitest'
import { reportFixture } from '../../../test/helpers/report-fixtures.js'
import { cellWidth } from '../text/text-table.js'
import { pickSentences, reportText, windowSentence } from './report-text.js'

/** Lines with two spaces between cells. */
const lines = reportText(reportFixture, undefined)
  .split('\n')
  .map((line) => line.trim().replace(/ {2,}/g, '  '))

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
      '  103 were saved (82.1 % (81.0 to 84.0) of the decided picks, 83.1 % (82.0 to 85.0) of all saved posts), half of them at least ' +
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
})

test('each order has its figures with their own intervals', () => {
  expect(lines).toContain(
    'Order  Ranked below a saved post  Saved posts found  Decided picks saved  Hidden or deleted  Earlier',
  )
  const figures = (tens: number): string =>
    [`${tens}1.1 % (${tens}0.0 to ${tens}3.0)`, `${tens}3.1 % (${tens}2.0 to ${tens}5.0)`]
      .concat(`${tens}2.1 % (${tens}1.0 to ${tens}4.0)`, `${tens}4.1 % (${tens}3.0 to ${tens}6.0)`)
      .join('  ')
  expect(lines).toContain(`model (m-1)  ${figures(8)}  11 min`)
  expect(lines).toContain(`by recommendations per view  ${figures(6)}  31 min`)
})

test('a difference has its interval, its verdict, and the days that it needs, of which more than a year says no number', () => {
  expect(lines).toContain('Order  Against  Difference  Verdict  Posts  More days needed')
  expect(lines).toContain('model (m-1)  by views  -4.0 pp (-5.1 to -2.8)  worse  960  –')
  expect(lines).toContain(
    'model (m-1)  newest first  +0.3 pp (-0.8 to +1.5)  cannot be told apart  1,003  17',
  )
  expect(lines).toContain('model (m-1)  by recommendations  –  nothing in common  0  –')
  const needing = (more_days: number | null): string => {
    const [difference] = reportFixture.differences
    return reportText(
      {
        ...reportFixture,
        differences: [{ ...difference!, verdict: 'cannot be told apart', more_days }],
      },
      undefined,
    )
  }
  expect(needing(68_889)).toMatch(/told apart +1,050 +more than a year\n/)
  expect(needing(365)).toMatch(/told apart +1,050 +365\n/)
  expect(needing(null)).toMatch(/told apart +1,050 +–\n/)
})

test('the metrics have each depth and each area', () => {
  expect(lines).toContain(
    'Order  Cycles  Top 10  Top 50  Top 100  NDCG 10  NDCG 50  AUC first  AUC last  AP last  Earlier p10  p90',
  )
  expect(lines).toContain('v-2  208  71 %  72 %  73 %  0.704  0.705  0.706  0.707  0.708  22 min  23 min')
})

test('the groups have the figures of each group', () => {
  expect(lines).toContain(
    'Gallery  Ranked below a saved post  Saved posts found  Decided picks saved  Saved  Picked  Picked and saved  Posts',
  )
  expect(lines).toContain('g1  61.1 % (60.1 to 63.1)  64 %  63 %  602  603  604  601')
  expect(lines).toContain('unknown  –  74 %  –  702  703  704  701')
  expect(lines).toContain('07  91.1 % (90.1 to 93.1)  94 %  93 %  902  903  904  901')
})

test('the first scores have their counts and the latest posts in Korean time', () => {
  expect(lines.join(' ')).toContain(
    'First scores Share on time 98.0 %, Target 99 %, on time 8,001, late 81, never 82, not counted 83, missing title 91, no cycle 92.',
  )
  const day = '2026-03-02'
  expect(lines).toContain('Post  Result  Reason  Extracted  Deadline  First score  Late by')
  expect(lines).toContain(`g1/11  late  missing title  ${day} 01:00  ${day} 01:09  ${day} 01:30  21 min`)
  expect(lines).toContain(`g2/12  never  no cycle  ${day} 02:00  ${day} 02:10  –  2.5 h`)
})

test('the outcomes have the medians and the correlations by age', () => {
  expect(lines).toContain(
    'Picked by  Placements  Hidden  Deleted  Age  Readings  views  recommendations  down-votes  comments',
  )
  expect(lines).toContain('model m-1  701  7.1 %  7.2 %  6 h  702  703  704  705  706')
  expect(lines).toContain('operator  711  7.4 %  7.3 %  24 h  712  713  –  715  716')
  expect(lines).toContain('48 h  721  0.11  -0.12  0.13  0.14')
})

test.each([60, 80, 120])('nothing is wider than %i columns', (columns) => {
  const text = reportText(reportFixture, columns)
  for (const line of text.split('\n'))
    // A hash is one word.
    if (!/^[0-9a-f]{64}$/.test(line)) expect(cellWidth(line), line).toBeLessThanOrEqual(columns)
})
