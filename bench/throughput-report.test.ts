/** The table of the throughput scenario. */
import { expect, test } from 'vitest'
import type { Measurement } from './measurement.js'
import { summarize } from './statistics.js'
import { throughputTable } from './throughput-report.js'

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

test('the table begins with the cycle scenarios whose floor was measured', () => {
  const parts = { transportMs: 1, walkMs: 1, walkNote: '', inferMs: 1, writeMs: 1, growingWriteMs: 2 }
  const floor = { ...parts, totalMs: 4, ratio: 4 }
  const cycle = { ...row('', 1, 50, 0), scenario: 'max', details: { floor } }
  const withoutFloor = { ...cycle, scenario: 'full', details: {} }
  const [, , ...lines] = throughputTable([...rows, cycle, withoutFloor]).split('\n')
  expect(lines).toHaveLength(3)
  expect(lines[0]).toMatch(/^\| max cycle \| 50 \(0\.25\) · 2 \/ \d+ \| {2}\|$/)
})
