/** How times, durations, numbers and sizes are written: at the borders of each unit, and for what is missing. */
import { afterEach, describe, expect, test } from 'vitest'
import * as format from './format.js'
import { setLanguage, t } from './messages/index.js'

afterEach(() => setLanguage('en'))

const second = 1000
const minute = 60 * second
const hour = 60 * minute

describe('times are those of Korea', () => {
  const time = '2026-11-22T16:05:09Z'

  test('with the day of Korea', () => {
    expect(format.clock(time)).toBe('01:05')
    expect(format.clockSeconds(time)).toBe('01:05:09')
    expect(format.day(time)).toBe('2026-11-23')
    expect(format.daySeconds(time)).toBe('2026-11-23 01:05:09')
    expect(format.dayClock(Date.parse(time))).toBe('2026-11-23 01:05')
  })

  test('and midnight is hour 0', () => {
    expect(format.clock('2026-11-22T15:00:00Z')).toBe('00:00')
  })

  test('as the ids of cycles are; another name stays', () => {
    expect(format.cycleLabel('20261123T1405')).toBe('11-23 14:05')
    expect(format.cycleLabel('20261123')).toBe('20261123')
  })
})

test.each([
  [0, '0 s'],
  [-5 * second, '0 s'],
  [59.4 * second, '59 s'],
  [59.5 * second, '1 min'],
  [60 * minute - second, '59 min'],
  [hour, '1 h'],
  [3 * hour + 5 * minute, '3 h 5 min'],
  [9.9 * hour, '9 h 54 min'],
  [10 * hour, '10 h'],
  [21.4 * hour, '21 h 24 min'],
  [48 * hour - minute, '47 h 59 min'],
  [48 * hour, '2 d'],
  [24_000 * hour, '1,000 d'],
])('%d ms is written as %s', (ms, text) => {
  expect(format.duration(ms)).toBe(text)
})

test('a time is before or after now; a difference of a second is that of two clocks', () => {
  expect(format.ago(0, 90 * second)).toBe('1 min ago')
  expect(format.ago(1001, 0)).toBe('in 1 s')
  expect(format.ago(1000, 0)).toBe('0 s ago')
})

test('what is counted since the start has its time for a day', () => {
  const started = '2026-11-22T16:05:00Z'
  expect(format.sinceStart(started, Date.parse(started) + 24 * hour - 1)).toBe('since 01:05 KST')
  expect(format.sinceStart(started, Date.parse(started) + 24 * hour)).toBeUndefined()
})

test.each([
  [0, '0'],
  [9.96, '10.0'],
  [9999, '9,999'],
  [10_000, '10K'],
  [123_456, '123K'],
  [1_234_567, '1.23M'],
  [-12_345_678, '−12.3M'],
])('%d has at most three digits from 10,000 on: %s', (value, text) => {
  expect(format.compact(value)).toBe(text)
})

test.each([
  [0, 'share', '0.0 to 0.0'],
  [-0.0004, 'points', '0.0 to 0.0'],
  [0.034, 'points', '+3.4 to +3.4'],
  [-0.012, 'points', '−1.2 to −1.2'],
  [0.971, 'share', '97.1 to 97.1'],
] as const)('the ends of an interval have signs only for differences: %d %s', (end, unit, text) => {
  expect(format.range([end, end], unit)).toBe(text)
})

test('shares, differences and rates have their units; nothing that changes has no rate', () => {
  expect(format.percent(0.98765)).toBe('98.8%')
  expect(format.percent(0.98765, 0)).toBe('99%')
  expect(format.points(-0.0661)).toBe('−6.6 pp')
  expect([format.rate(1234), format.rate(-5), format.rate(0), format.rate(null)]).toEqual([
    ...['+1,234/h', '−5/h', '', ''],
  ])
  expect([format.score(0.7344), format.decimal(0.7344, 2), format.minutes(90)]).toEqual([
    ...['0.734', '0.73', '1 h 30 min'],
  ])
})

test.each([
  [0, '0 ms'],
  [1.234, '1.23 ms'],
  [12.34, '12.3 ms'],
  [123.4, '123 ms'],
  [1000, '1.00 s'],
])('%d ms is %s', (ms, text) => {
  expect(format.milliseconds(ms)).toBe(text)
})

test.each([
  [1023, '1,023 B'],
  [1024, '1.0 KiB'],
  [99.9 * 1024, '99.9 KiB'],
  [100 * 1024, '100 KiB'],
  [150 * 1024, '150 KiB'],
  [1.44 * 2 ** 30, '1.4 GiB'],
  [5000 * 2 ** 40, '5,000 TiB'],
])('%d bytes are %s', (count, text) => {
  expect(format.bytes(count)).toBe(text)
})

test('what is missing is a dash', () => {
  const { integer, compact, score, decimal, percent, points, minutes, milliseconds, bytes, dayClock } = format
  const texts = [integer, compact, score, decimal, percent, points, minutes, milliseconds, bytes, dayClock]
  expect(texts.map((text) => text(null))).toEqual(Array(10).fill('–'))
})

test('one is singular, all other counts are plural', () => {
  const { calls } = t.units
  expect([0, 1, 1234].map((count) => format.counted(count, calls))).toEqual([
    '0 calls',
    '1 call',
    '1,234 calls',
  ])
})

test('Korean has its own dates, units and large numbers', () => {
  setLanguage('ko')
  const time = '2026-11-22T16:05:09Z'
  expect([
    format.dayClock(time),
    format.cycleLabel('20261123T1405'),
    format.ago(time, Date.parse(time) + hour),
  ]).toEqual(['2026. 11. 23. 01:05', '11. 23. 14:05', '1시간 전'])
  expect([
    format.duration(3 * hour + 5 * minute),
    format.compact(12_345),
    format.percent(0.987),
    format.points(-0.05),
  ]).toEqual(['3시간 5분', '1.23만', '98.7%', '−5.0%p'])
  expect(format.counted(1234, t.units.cycles)).toBe('cycle 1,234개')
})

test.each([
  [1, '1'],
  [2.5, '2.5'],
  [1200, '1,200'],
  [1200.5, '1,200.5'],
  [null, '–'],
])('the rank %s is %s: half ranks are those of equal scores', (value, text) => {
  expect(format.rank(value)).toBe(text)
})
