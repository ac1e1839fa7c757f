/** The flags `--from` and `--to`: days are those of Korea, and `--to` includes the whole day. */
import { expect, test } from 'vitest'
import { UsageError } from '../failure.js'
import { timeRangeOf } from './time-range.js'

const instant = (text: string): number => Date.parse(text)

test('a day begins and ends at midnight in Korea', () => {
  const { fromMs, toMs } = timeRangeOf({ from: '2026-03-02', to: '2026-03-02' })
  expect([fromMs, toMs]).toEqual([instant('2026-03-01T15:00:00.000Z'), instant('2026-03-02T14:59:59.999Z')])
})

test('a cycle id and a time with an offset are that moment, and a missing flag is no limit', () => {
  expect(timeRangeOf({ from: '20260302T1205' })).toEqual({
    fromMs: instant('2026-03-02T03:05:00Z'),
    toMs: Infinity,
  })
  expect(timeRangeOf({ to: '2026-03-02T12:05:00+09:00' })).toEqual({
    fromMs: -Infinity,
    toMs: instant('2026-03-02T03:05:00Z'),
  })
})

test('a range that ends before it begins, and what is no time, are refused', () => {
  expect(() => timeRangeOf({ from: '2026-03-02', to: '2026-03-01' })).toThrow(UsageError)
  expect(() => timeRangeOf({ from: '2026-03-02T12:05:00' })).toThrow(UsageError)
  expect(timeRangeOf({ from: '20260302T1205', to: '20260302T1205' }).toMs).toBe(
    instant('2026-03-02T03:05:00Z'),
  )
})
