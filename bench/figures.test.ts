/**
 * Figures, tables and plots from known samples.
 */
import { describe, expect, test } from 'vitest'
import { niceCeiling, plotText } from './plot.js'
import { alignColumns, bar, measurementTable } from './report.js'
import { fitLine, median, summarize } from './statistics.js'

test('a quantile is a sample that was measured', () => {
  const samples = Array.from({ length: 100 }, (_, i) => 100 - i)
  expect(summarize(samples)).toEqual({
    count: 100,
    min: 1,
    mean: 50.5,
    p50: 50,
    p90: 90,
    p99: 99,
    p999: 100,
    max: 100,
  })
  expect(median([3, 1, 2])).toBe(2)
  expect(() => summarize([])).toThrow('no samples')
})

test('points on a line are explained by it to the full', () => {
  const line = fitLine([
    [1, 5],
    [2, 7],
    [4, 11],
  ])
  expect(line.slope).toBeCloseTo(2)
  expect(line.intercept).toBeCloseTo(3)
  expect(line.r2).toBeCloseTo(1)
})

describe('the table', () => {
  const row = {
    scenario: 'full',
    latencyMs: summarize([10, 20]),
    perSecond: 66.6,
    megabytesPerSecond: 400,
    serverCpuMsPerRequest: null,
    serverRssPeakMib: 300,
    eventLoopDelayP99Ms: null,
    clientBusyShare: 0.2,
    details: {},
  }

  test('has a dash for what the system does not tell', () => {
    expect(measurementTable([row]).split('\n')[1]).toMatch(/^full +2 +10\.0 +20\.0 .* - +300 +- +20 %$/)
  })

  test('warns of a client that was as busy as a server', () => {
    expect(measurementTable([row])).not.toContain('!')
    expect(measurementTable([{ ...row, clientBusyShare: 0.97 }])).toContain(
      '! full: the client computed 97 %',
    )
  })

  test('keeps its columns in line', () => {
    expect(
      alignColumns([
        ['a', 'bbb'],
        ['cc', '1'],
      ]),
    ).toEqual(['a   bbb', 'cc    1'])
  })
})

test('a bar is as long as its part, and never longer than the whole', () => {
  expect(bar(0.5)).toHaveLength(bar(1).length / 2)
  expect(bar(7)).toBe(bar(1))
})

test('a plot has a mark for each point and an axis that holds them all', () => {
  const text = plotText([
    [500, 2.1],
    [1000, 4.2],
  ])
  expect(text.match(/●/g)).toHaveLength(2)
  expect(niceCeiling(4.2)).toBe(5)
  expect(niceCeiling(1)).toBe(1)
  expect(niceCeiling(0.9)).toBeCloseTo(1)
})
