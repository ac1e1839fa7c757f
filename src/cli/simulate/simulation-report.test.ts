/**
 * The report of a simulation as text.
 */
import { expect, test } from 'vitest'
import type { SimulationReport } from '../../simulator/index.js'
import { describeReport } from './simulation-report.js'
import { cellWidth } from '../text/text-table.js'

const report: SimulationReport = {
  seed: 1,
  startAtMs: Date.parse('2026-03-01T15:00:00Z'),
  endAtMs: Date.parse('2026-03-02T15:00:00Z'),
  postsRemoved: 0,
  modelVersion: 'transport-test-1',
  weightsVersion: 'initial',
  totals: {
    cycles: 288,
    cyclesStoredBefore: 0,
    candidates: 2200,
    engagementRows: 1,
    snapshots: 1,
    removals: 1,
    saved: 1,
    scored: 200_000,
    waiting: 1,
    notScored: 1,
    imagesCreated: 680,
    imagesRepeated: 59,
    outcomes: 1,
    faults: 63,
    restarts: 14,
    responsesReread: 369,
    retries: 0,
    bytesSent: 1,
  },
  postMs: { count: 288, p50: 10, p90: 20, p99: 30, max: 40 },
  wallMs: 10_000,
  top: [{ gall_id: 'cat', post_no: 7, title: '고양이 '.repeat(40), score: 0.75 }],
}

test('the report counts every upload, and how many images were stored before', () => {
  expect(describeReport(report)).toContain('\n739 images uploaded, 59 of them stored before\n')
})

test('the report counts injected faults and lists their kinds', () => {
  expect(describeReport(report)).toContain('\n77 faults injected (lost responses, broken connections, ')
  const withoutFaults = { ...report, totals: { ...report.totals, faults: 0, restarts: 0 } }
  expect(describeReport(withoutFaults)).toContain('\n0 faults injected\n')
})

test('the report warns that the order of a transport test model has no meaning', () => {
  const warning = 'pseudo-random weights, the order has no meaning'
  expect(describeReport(report)).toContain(`transport-test-1: ${warning}`)
  expect(describeReport({ ...report, modelVersion: 'head-2026-03' })).not.toContain(warning)
})

test.each([60, 80])('the report fits a terminal of %i columns', (columns) => {
  const text = describeReport(report, columns)
  for (const line of text.split('\n')) expect(cellWidth(line)).toBeLessThanOrEqual(columns)
  expect(text).toMatch(/1 {2}0\.7500 {2}cat +7 {2}고양이/)
})
