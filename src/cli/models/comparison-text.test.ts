/**
 * The text of `understudy models compare`, which must fit its terminal.
 */
import { expect, test } from 'vitest'
import { comparisonFixture } from '../../../test/helpers/report-fixtures.js'
import type { Comparison } from '../../contract/index.js'
import { quantileShares } from '../../history/index.js'
import { cellWidth } from '../text-table.js'
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
