/** The table and the plot of the throughput scenario. */
import { expect, test } from 'vitest'
import type { Measurement } from './measurement.js'
import { summarize } from './statistics.js'
import { throughputSvg, throughputTable } from './throughput-report.js'

function row(
  operation: string,
  connectionCount: number,
  perSecond: number,
  floorPerSecond: number,
): Measurement {
  return {
    scenario: `throughput: ${operation} × ${connectionCount}`,
    latencyMs: summarize([1, 2, 30]),
    perSecond,
    megabytesPerSecond: 1,
    serverCpuMsPerRequest: 1,
    serverRssPeakMib: 1,
    clientBusyShare: 0.5,
    details: { throughput: { operation, connectionCount, floorPerSecond } },
  }
}

const rows = [row('health', 1, 5000, 10_000), row('health', 4, 9000, 12_000), row('new <cycle>', 1, 100, 200)]

test('the table has a row per operation, a column per number of connections, and each part of the floor', () => {
  const [head, , ...lines] = throughputTable(rows).split('\n')
  expect(head).toBe('| operation | 1 connection | 4 connections |')
  expect(lines).toEqual([
    expect.stringMatching(/^\| health \| 5,000 \(0\.50\) · 2 \/ \d+ \| 9,000 \(0\.75\) · 2 \/ \d+ \|$/),
    expect.stringMatching(/^\| new <cycle> \| 100 \(0\.50\) · 2 \/ \d+ \| {2}\|$/),
  ])
  expect(throughputTable([])).toBe('')
})

test('the table begins with the cycle scenarios whose floor was measured, and the plot lacks them', () => {
  const floor = { transportMs: 1, walkMs: 1, walkNote: '', inferMs: 1, writeMs: 1, totalMs: 4, ratio: 4 }
  const cycle = { ...row('', 1, 50, 0), scenario: 'max', details: { floor } }
  const withoutFloor = { ...cycle, scenario: 'full', details: {} }
  const [, , ...lines] = throughputTable([...rows, cycle, withoutFloor]).split('\n')
  expect(lines).toHaveLength(3)
  expect(lines[0]).toMatch(/^\| max cycle \| 50 \(0\.25\) · 2 \/ \d+ \| {2}\|$/)
  expect(throughputSvg([cycle, ...rows], 'origin')).toBe(throughputSvg(rows, 'origin'))
})

test('the plot has a mark per measurement, a line and a dashed line per operation, and escapes its texts', () => {
  const svg = throughputSvg(rows, 'commit & machine')
  expect(svg.match(/<circle/g)).toHaveLength(3)
  expect(svg.match(/<polyline/g)).toHaveLength(4)
  expect(svg.match(/stroke-dasharray/g)).toHaveLength(2)
  expect(svg).toContain('new &lt;cycle&gt;')
  expect(svg).toContain('commit &amp; machine')
  // Ten times as many requests are one step of the scale higher, and nothing lies outside of it.
  const heights = [...svg.matchAll(/cy="([\d.]+)"/g)].map(([, y]) => Number(y))
  expect(heights[0]).toBeLessThan(heights[2]!)
  for (const y of heights) expect(y).toSatisfy((at: number) => at >= 32 && at <= 336)
})
