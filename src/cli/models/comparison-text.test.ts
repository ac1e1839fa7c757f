/**
 * The text of `understudy models compare`: its figures, and that it fits its terminal.
 */
import { expect, test } from 'vitest'
import { comparisonFixture } from '../../../test/helpers/report-fixtures.js'
import type { Comparison, ScoreFigures } from '../../contract/index.js'
import { quantileShares } from '../../history/index.js'
import { cellWidth } from '../text/text-table.js'
import { comparisonText } from './comparison-text.js'

const figures = {
  mean: 0.4321,
  distinct_scores: 1234,
  quantiles: Object.fromEntries(quantileShares.map((share) => [share, 0.1 + share / 2])),
}
const comparison: Comparison = { ...comparisonFixture, pooled: { first: figures, second: figures } }

test.each([60, 80])('every table fits %i cells', (columns) => {
  const lines = comparisonText(comparison, columns).split('\n')
  // Sentences are wrapped by the terminal.
  const tables = lines.filter((line) => !line.endsWith('.'))
  expect(tables.length).toBeGreaterThan(10)
  for (const line of tables) expect(cellWidth(line), line).toBeLessThanOrEqual(columns)
})

test('a single cycle is named once, and of many movers ten are shown', () => {
  const { cycles, scores, posts } = comparisonFixture
  const textOf = (count: number): string =>
    comparisonText({ ...comparison, cycles: { ...cycles, count } }, undefined)
  expect(textOf(1)).toContain(` in cycle ${cycles.from}: ${scores} scores each, of ${posts} posts.`)
  expect(textOf(2)).toContain(` in 2 cycles from ${cycles.from} to ${cycles.to}: `)
  const mover = { gall_id: 'g', cycle_id: '20260302T0905', posts: 90, title: '제목' }
  const ranks = { first_rank: 80, second_rank: 2, first_score: 0.1, second_score: 0.8 }
  const movers = Array.from({ length: 11 }, (_, index) => ({ ...mover, ...ranks, post_no: 101 + index }))
  const text = comparisonText({ ...comparison, movers }, undefined)
  expect(text.match(/g\/1\d\d/g)).toEqual(movers.slice(0, 10).map(({ post_no }) => `g/${post_no}`))
})

test('each figure is that of its label and of its version', () => {
  const pooled = (low: number, distinct_scores: number): ScoreFigures => ({
    mean: low + 0.55,
    distinct_scores,
    quantiles: Object.fromEntries(quantileShares.map((share) => [share, low + share / 10])),
  })
  const mover = { gall_id: 'g', post_no: 7, cycle_id: '20260302T0905', posts: 90, title: '제목' }
  const text = comparisonText(
    {
      ...comparisonFixture,
      cycles: { ...comparisonFixture.cycles, without_scored_posts: 3 },
      pooled: { first: pooled(0.1, 111), second: pooled(0.3, 222) },
      lacking_heads: { first: ['p_up'], second: ['p_views'] },
      skipped: { first: { texts: 1, images: 12 }, second: { texts: 21, images: 22 } },
      movers: [{ ...mover, first_rank: 80, second_rank: 2.5, first_score: 0.123, second_score: 0.876 }],
    },
    undefined,
  )
  const lines = text.split('\n').map((line) => line.trim().replace(/ {2,}/g, ' | '))
  expect(lines.filter((line) => line !== '' && !line.startsWith('─'))).toEqual([
    'v-1 (A) and v-2 (B) in 288 cycles from 20260301T1205 to 20260302T1200: 567890 scores each, of 45678 posts.',
    'Cycles without scored posts: 3.',
    'Distinct scores: 111 of A, 222 of B.',
    'v-1 lacks p_up: its scores omit their weights.',
    'v-1 was replayed without 1 text and 12 images that crash its encoders.',
    'v-2 lacks p_views: its scores omit their weights.',
    'v-2 was replayed without 21 texts and 22 images that crash its encoders.',
    'agreement | median of cycles',
    'rank correlation | 0.912',
    'overlap of the best 10 | 71 %',
    'overlap of the best 50 | 72 %',
    'overlap of the best 100 | –',
    'mean difference, B − A | -0.0045',
    'mean absolute difference | 0.0123',
    'scores | mean | minimum | 10 % | 25 % | median | 75 % | 90 % | maximum',
    'v-1 | 0.6500 | 0.1000 | 0.1100 | 0.1250 | 0.1500 | 0.1750 | 0.1900 | 0.2000',
    'v-2 | 0.8500 | 0.3000 | 0.3100 | 0.3250 | 0.3500 | 0.3750 | 0.3900 | 0.4000',
    'source of scores, in cycles | response | shadow | replay',
    'v-1 | 288 | 0 | 0',
    'v-2 | 0 | 280 | 8',
    'largest movers | cycle | rank, A → B | score, A → B | title',
    'g/7 | 20260302T0905 | 80 → 2.5 of 90 | 0.123 → 0.876 | 제목',
    'Quality over these cycles, with 95 % intervals:',
    'Order | Ranked below a saved post | Saved posts found | Decided picks saved | Hidden or deleted | Earlier',
    'v-1 | 51.1 % (50.0 to 53.0) | 53.1 % (52.0 to 55.0) | 52.1 % (51.0 to 54.0) | 54.1 % (53.0 to 56.0) | 41 min',
    'v-2 | 41.1 % (40.0 to 43.0) | 43.1 % (42.0 to 45.0) | 42.1 % (41.0 to 44.0) | 44.1 % (43.0 to 46.0) | 51 min',
    'Differences with 95 % intervals, and their verdicts:',
    'Order | Against | Difference | Verdict | Posts | More days needed',
    'v-1 | v-2 | +6.0 pp (+4.9 to +7.2) | better | 1,060 | –',
  ])
})
