/**
 * Figures and tables computed from known samples.
 */
import { describe, expect, test } from 'vitest'
import { alignColumns, bar, measurementTable } from './report.js'
import { median, summarize } from './statistics.js'

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

describe('the table', () => {
  const row = {
    scenario: 'full',
    latencyMs: summarize([10, 20]),
    perSecond: 66.6,
    megabytesPerSecond: 400,
    serverCpuMsPerRequest: null,
    serverRssPeakMib: 300,
    clientBusyShare: 0.2,
    details: {},
  }

  test('has a dash for a figure that the system does not report', () => {
    expect(measurementTable([row]).split('\n')[1]).toMatch(/^full +2 +10\.0 +20\.0 .* - +300 +20 %$/)
  })

  test('warns about a busy client', () => {
    expect(measurementTable([row])).not.toContain('!')
    expect(measurementTable([{ ...row, clientBusyShare: 0.97 }])).toContain(
      '! full: the client used the CPU 97 %',
    )
  })

  test('aligns its columns', () => {
    expect(
      alignColumns([
        ['a', 'bbb'],
        ['cc', '1'],
      ]),
    ).toEqual(['a   bbb', 'cc    1'])
  })
})

test('the length of a bar is proportional to its part, and limited to the whole', () => {
  expect(bar(0.5)).toHaveLength(bar(1).length / 2)
  expect(bar(7)).toBe(bar(1))
})
