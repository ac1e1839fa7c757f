/** What the page draws without text: lines, areas, and which rows of a long table exist. */
import { renderToString } from 'preact-render-to-string'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { pointFixture } from '../../../test/helpers/page-fixtures.js'
import { merge } from '../views/now-charts.js'
import { isolatedIn, plotData, plotOptions } from './chart.js'
import { Sparkline } from './sparkline.js'
import { rowRange } from './virtual-table.js'

describe('a sparkline', () => {
  const path = (...values: readonly (number | null)[]): string =>
    /<path d="([^"]*)"/.exec(renderToString(<Sparkline values={values} />))?.[1] ?? 'none'

  test('goes from the oldest value on the left to the newest on the right, higher for a higher score', () => {
    expect(path(0.4, 0.5)).toBe('M2.0 19.0L70.0 3.0')
    expect(path(0.9, 0.5, 0.7)).toBe('M2.0 3.0L36.0 19.0L70.0 11.0')
  })

  test('shows a small movement as a small one, in the middle', () => {
    expect(path(0.5, 0.52)).toBe('M2.0 12.6L70.0 9.4')
  })

  test('has a gap where a score is missing, and needs two scores', () => {
    expect(path(0.4, null, 0.5, 0.4)).toBe('M2.0 19.0M47.3 3.0L70.0 19.0')
    expect(path(0.4, null)).toBe('none')
  })
})

test('the areas of a chart lie on each other, the highest drawn first; lines have their values', () => {
  const series = [
    { label: 'a', color: 1, values: [1, 2] },
    { label: 'b', color: 2, values: [3, null] },
    { label: 'c', color: 3, values: [5, 6] },
  ]
  expect(plotData([1000, 2500], series, true)).toEqual([
    [1, 2.5],
    [9, 8],
    [4, 2],
    [1, 2],
  ])
  expect(plotData([1000, 2500], series, false)).toEqual([
    [1, 2.5],
    [1, 2],
    [3, null],
    [5, 6],
  ])
})

test('each area of a chart has the colour of its series, although the highest is drawn first', () => {
  const probe = { style: { color: '' }, remove: () => undefined }
  vi.stubGlobal('document', { createElement: () => probe })
  vi.stubGlobal('getComputedStyle', ({ style }: typeof probe) => style)
  onTestFinished(() => {
    for (const name of ['document', 'getComputedStyle']) vi.stubGlobal(name, undefined)
  })
  const element = { style: {}, append: () => undefined } as unknown as HTMLElement
  const colors = (isStacked: boolean): unknown[] => {
    const series = [1, 2, 3].map((color) => ({ label: `of ${color}`, color, values: [] }))
    const props = { title: '', times: [], series, isStacked, format: String }
    return plotOptions(props, element, () => undefined).series.map(({ stroke }) => stroke)
  }
  expect(colors(true)).toEqual([undefined, 'var(--color-3)', 'var(--color-2)', 'var(--color-1)'])
  expect(colors(false)).toEqual([undefined, 'var(--color-1)', 'var(--color-2)', 'var(--color-3)'])
})

test('the points of the charts are in order of their cycle, each once, and the newest 1,000', () => {
  const point = (n: number, ms: number) => {
    const cycle_time = new Date(Date.UTC(2026, 0, 1) + n * 300_000).toISOString()
    return { ...pointFixture(0), cycle_id: `c${n}`, cycle_time, ms }
  }
  const merged = merge([point(2, 1), point(1, 2)], [point(3, 3), point(2, 4)])
  expect(merged.map(({ cycle_id, ms }) => `${cycle_id} ${ms}`)).toEqual(['c1 2', 'c2 4', 'c3 3'])
  const many = merge(
    [],
    Array.from({ length: 1002 }, (_, n) => point(n, n)),
  )
  expect([many.length, many[0]?.cycle_id, many.at(-1)?.cycle_id]).toEqual([1000, 'c2', 'c1001'])
})

test('the rows of a long table that exist are the visible ones and six above and below, within the table', () => {
  const range = (top: number, count: number): [number, number] => rowRange({ top, height: 600 }, 50, count)
  expect(range(0, 5000)).toEqual([0, 18])
  expect(range(5000, 5000)).toEqual([94, 118])
  expect(range(5025, 5000)).toEqual([94, 119])
  expect(range(250_000, 5000)).toEqual([4994, 5000])
  expect(range(0, 3)).toEqual([0, 3])
  // The table has become shorter.
  expect(range(5000, 10)).toEqual([10, 10])
})

test.each([
  [[null, 0.4, null], [1]],
  [[0.4], [0]],
  [[0.4, 0.5, null, 0.6], [3]],
  [[0.4, 0.5, 0.6], []],
  [[null, null], []],
])('of the values %j of a line, those at %j are drawn as points', (values, points) => {
  expect(isolatedIn({ data: [values.map((_, i) => i), values] }, 1)).toEqual(points)
})
