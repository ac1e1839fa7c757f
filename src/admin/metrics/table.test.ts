import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectDir } from '../../../test/helpers/project.js'
import { createMetrics } from './registry.js'
import { metricRows, metricsAsMarkdown, statusLabel } from './table.js'

const read = (path: string): string => readFileSync(join(projectDir, path), 'utf8')

test('docs/metrics.md has the list of all metrics', () => {
  expect(read('docs/metrics.md')).toContain(`\n${metricsAsMarkdown()}`)
})

test('names follow the rules of Prometheus', () => {
  for (const { name, type, buckets } of metricRows) {
    expect(name).toMatch(/^understudy_[a-z_]+$/)
    expect(name.endsWith('_total'), name).toBe(type === 'counter')
    expect(name.endsWith('_duration_seconds'), name).toBe(type === 'histogram')
    expect(buckets.length > 0, name).toBe(type === 'histogram')
  }
})

test('all series of bounded labels exist from the start', async () => {
  const text = await createMetrics().registry.metrics()
  for (const { name, labels, type } of metricRows) {
    if (name === 'understudy_results_total' || Object.values(labels).includes('open')) continue
    const count = Object.values(labels).reduce((product, values) => product * values.length, 1)
    const series = type === 'histogram' ? `${name}_count` : name
    expect(text.match(new RegExp(`^${series}[ {]`, 'gm')), name).toHaveLength(count)
  }
  expect(text.match(/^understudy_results_total\{/gm)).toHaveLength(6)
})

test('a status outside the contract is neither lost nor counted as a client that disconnected', () => {
  expect([0, 200, 503, 418, 504].map(statusLabel)).toEqual(['aborted', '200', '503', 'other', 'other'])
})
