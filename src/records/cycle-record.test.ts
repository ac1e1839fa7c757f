/** The record of a cycle: its tables are read one by one, and damage is an error. */
import { expect, test } from 'vitest'
import { Random } from '../../test/harness/rng.js'
import { packCycleRecord, readCycleHeader, readCycleTable, tookEffect } from './cycle-record.js'
import { cycleTableNames } from './tables.js'

const numbers = (...values: readonly number[]): Float64Array => Float64Array.from(values)

const header = {
  weights: { views: 0.5, comments: 0.25, up: 1, downvote_share: 0 },
  text_encoder: 'a'.repeat(64),
  image_encoder: null,
  entered: 1,
  left_at: 1_767_200_000_000,
  warnings: [{ code: 'late_cycle' as const, count: null, detail: '글 "1": \ud800' }],
}

const tables = {
  candidates: {
    count: 1,
    gall_id: ['야구'],
    post_no: numbers(2 ** 40),
    title: ['제목'],
    row_start: numbers(10),
    row_end: numbers(1000),
    created_at: numbers(1_767_200_000_000.25),
    extracted_at: numbers(NaN),
    source: numbers(1),
    gallery_type: numbers(255),
  },
  removals: {
    count: 2,
    gall_id: ['g', 'h'],
    post_no: numbers(1, 2),
    reason: numbers(0, 1),
    tier: numbers(0, 255),
    decided_at: numbers(5, 6),
    entered_position: numbers(3, NaN),
    entered_row: numbers(0, NaN),
  },
  results: {
    count: 3,
    entered_position: numbers(3, 7, 7),
    entered_row: numbers(4, 0, 2),
    outcome: numbers(0, 1, 0),
  },
  scored: {
    count: 2,
    views: numbers(10, NaN),
    up: numbers(1, 2),
    comment_cnt: numbers(3, 4),
    rtb_vote: numbers(0, 0),
    text_encoded: numbers(1, 0),
  },
  images: { count: 1, row: numbers(1), position: numbers(2), encoded: numbers(1) },
}
const heads = {
  count: 2,
  p_views: Float32Array.of(0.25, 0.5),
  p_comments: null,
  p_up: Float32Array.of(0, 1),
  downvote_share: null,
}

const record = packCycleRecord(header, tables)(heads)

test('header and tables are read as they were packed, each without the others', () => {
  expect(readCycleHeader(record)).toEqual({ layout: 6, ...header })
  const all = { ...tables, heads }
  for (const name of cycleTableNames) expect(readCycleTable(record, name)).toEqual(all[name])
})

test('a record that is cut, and one of another layout, are errors', () => {
  expect(() => readCycleTable(record.subarray(0, -1), 'heads')).toThrow('incomplete')
  const text = Buffer.from(record).toString('latin1').replace('"layout":6', '"layout":9')
  expect(() => readCycleTable(Buffer.from(text, 'latin1'), 'results')).toThrow('layout 9, not 6')
})

test('a score takes at most 22 bytes', () => {
  const count = 5000
  const random = new Random(1)
  const column = (valueOf: (row: number) => number): Float64Array =>
    Float64Array.from({ length: count }, (_, row) => valueOf(row))
  const shares = (): Float32Array =>
    Float32Array.from({ length: count }, () => (random.below(980) + 10) / 1009)
  const pack = packCycleRecord(header, {
    ...tables,
    results: {
      count,
      entered_position: column((row) => 1000 + Math.floor(row / 20)),
      entered_row: column((row) => row % 20),
      outcome: column(() => 0),
    },
    scored: {
      count,
      views: column(() => random.below(60_000)),
      up: column(() => random.below(300)),
      comment_cnt: column(() => random.below(200)),
      rtb_vote: column(() => random.below(100)),
      text_encoded: column(() => 0),
    },
  })
  const packed = pack({
    count,
    p_views: shares(),
    p_comments: shares(),
    p_up: shares(),
    downvote_share: shares(),
  })
  expect(packed.length / count).toBeLessThanOrEqual(22)
})

test('a removal took effect if the place where its post entered is recorded', () => {
  expect([0, 1].map((row) => tookEffect(tables.removals, row))).toEqual([true, false])
})
