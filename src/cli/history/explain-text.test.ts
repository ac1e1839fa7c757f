/** The text of `understudy explain`: each figure is that of its label. All values of the fixture differ. */
import { expect, test } from 'vitest'
import { explanationFixture } from '../../../test/helpers/report-fixtures.js'
import type { Explanation } from '../../contract/index.js'
import { explanationText, sparkline } from './explain-text.js'
import { cellWidth } from '../text/text-table.js'

const { explained } = explanationFixture
const cycle = (n: number) => ({
  cycle_id: `20260302T12${10 + n}`,
  status: 'scored',
  reason: null,
  score: 0.4 + n / 100,
  rank: 30 + n,
  scored: 400 + n,
  weights_version: `w-${n}`,
  model_version: `m-${n}`,
  heads: { p_views: 0.1 + n / 100, p_comments: 0.2 + n / 100 },
})

const explanation = {
  ...explanationFixture,
  gall_id: '갤',
  post_no: 77,
  cycles: Array.from({ length: 13 }, (_, n) => cycle(n + 1)),
  explained: { ...explained, ...cycle(13), score_now: 0.6, weights_version: 'w-13', model_version: 'm-13' },
  against: {
    ...cycle(2),
    problem: null,
    change: {
      by_inputs: 0.11,
      by_weights: -0.12,
      by_model: 0.13,
      inputs: [
        { name: 'views', kind: 'feature', from: 1234.5678, to: 2345, change: 0.14 },
        { name: 'up', kind: 'feature', from: null, to: 8, change: -0.15 },
        { name: 'text', kind: 'text', from: null, to: null, change: 0.16 },
      ],
    },
  },
  outcomes: [
    {
      tier: 'main',
      placed_at: '2026-03-02T13:00:00+09:00',
      hidden_at: '2026-03-02T14:00:00+09:00',
      picked_by: { type: 'model', model_version: 'm-9' },
      readings: [{ age_h: 6, views: 91, up: 92, down: null, comment_cnt: 94 }],
    },
    { tier: 'night', placed_at: '2026-03-03T13:00:00+09:00', picked_by: { type: 'operator' } },
  ],
} as unknown as Explanation

const lines = explanationText(explanation)
  .split('\n')
  .map((line) => line.trimEnd().replace(/ {2,}/g, '  '))

test('the visits have their cycles, their outcome and its time in Korea; the explained one is marked', () => {
  expect(lines[0]).toBe('갤/77  제목')
  expect(lines).toContain('1  an expired cycle  20260301T1005  aged out  –  2026-03-01 10:01')
  expect(lines).toContain('2 (shown below)  20260302T1015  20260302T1130  saved  night  2026-03-02 11:21')
})

test('a title has one line, without the control characters of its author', () => {
  const { candidate } = explanationFixture
  const title = 'a\n▸ visit 9: \x1b[2J\u009b2J\u202eb'
  const text = explanationText({ ...explanation, gall_id: 'g\r', candidate: { ...candidate!, title } })
  expect(text.split('\n', 1)).toEqual(['g /77  a ▸ visit 9:  [2J 2J b'])
})

test('the last twelve cycles have their scores, ranks and heads, and the range is that of all', () => {
  expect(lines).toContain(
    `Score in 13 of 13 cycles, 0.4100 to 0.5300:  ${sparkline(Array.from({ length: 13 }, (_, n) => cycle(n + 1).score))}`,
  )
  expect(lines).toContain('Cycle  Status  Score  Rank  predicted views  predicted comments  Model  Weights')
  expect(lines).toContain('20260302T1223  scored  0.5300  43 of 413  0.2300  0.3300  m-13  w-13')
  expect(lines).toContain('20260302T1212  scored  0.4200  32 of 402  0.1200  0.2200  m-2  w-2')
  expect(lines.filter((line) => line.startsWith('20260302T1211'))).toEqual([])
  expect(lines).toContain('1 earlier cycles are in the output of --json.')
})

test('the explained cycle has its score, weights and inputs', () => {
  expect(lines).toContain(
    'Cycle 20260302T1223: score 0.5300, rank 43 of 413; model m-13, weights w-13 ' +
      '(views 1.5, comments 0.25, up 0.75, downvote_share 0.1).',
  )
  expect(lines).toContain(
    'The recorded inputs give 0.600000 here: another provider, or inputs that are not recorded.',
  )
  expect(lines).toContain('Input  Value  Median  Percentile  Effect  Over missing')
  expect(lines).toContain('log_views  9.4211  7.2511  87 %  +0.0812  +0.1234')
  expect(lines).toContain('age_hours  12  5  12 %  -0.0345  –')
  expect(lines).toContain('text  present  –  –  +0.0456  +0.0456')
  expect(lines).toContain('snapshot_up  missing  3.5  –  -0.0567  –')
})

test('the change since another cycle is that from it to the explained one, by inputs, weights and model', () => {
  expect(lines).toContain(
    'Since cycle 20260302T1212: score 0.4200 → 0.5300 (+0.1100), rank 32 of 402 → 43 of 413.',
  )
  expect(lines).toContain('Inputs +0.1100, weights (w-2 → w-13) -0.1200, model (m-2 → m-13) +0.1300.')
  expect(lines).toContain('views  1234.6  2345  +0.1400')
  expect(lines).toContain('up  missing  8  -0.1500')
})

test('the placements have who picked them, and their readings by age', () => {
  expect(lines).toContain(
    'Placed on main at 2026-03-02T13:00:00+09:00 by the model m-9, hidden at 2026-03-02T14:00:00+09:00.',
  )
  expect(lines).toContain('hours  views  up  down  comments')
  expect(lines).toContain('  6  91  92  94')
  expect(lines).toContain('Placed on night at 2026-03-03T13:00:00+09:00 by an operator.')
})

test('a sparkline has one bar per value, from the lowest to the highest', () => {
  expect(sparkline([1, 2, 3, 4, 5, 6, 7, 8])).toBe('▁▂▃▄▅▆▇█')
  expect(sparkline([5, 5])).toBe('▅▅')
  expect(sparkline(Array.from({ length: 120 }, (_, n) => (n < 60 ? 0 : 1)))).toBe(
    '▁'.repeat(30) + '█'.repeat(30),
  )
})

test.each([60, 80])('every table fits a terminal of %i cells', (columns) => {
  const tables = explanationText(explanation, columns)
    .split('\n')
    .filter((line) => !/^(Cycle 2|Since|Score in|The |Inputs [+-]|Placed)/.test(line))
  for (const line of tables) expect(cellWidth(line), line).toBeLessThanOrEqual(columns)
})
