/** RFC 3339 date-times, instants, cycle ids. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  compareInstants,
  cycleIdOf,
  dateTimeCharsMax,
  kstTimeOfDay,
  nextBoundary,
  parseInstant,
} from './time.js'

const at = (text: string) => {
  const instant = parseInstant(text)
  if (instant === null) throw new Error(`${text} does not parse`)
  return instant
}

describe('a date-time', () => {
  test('is refused without an explicit offset, with an impossible date, or in another spelling', () => {
    for (const text of [
      '2012-01-01T00:00:00',
      '2012-01-01',
      '2012-01-01T00:00Z',
      '2012-01-01T00:00:00+0900',
      '2012-01-01T00:00:00+24:00',
      '2012-01-01T00:00:00+09:60',
      '2012-02-30T00:00:00Z',
      '2011-02-29T00:00:00Z',
      '2100-02-29T00:00:00Z',
      '2011-04-31T00:00:00Z',
      '2011-00-10T00:00:00Z',
      '2011-13-10T00:00:00Z',
      '2011-06-00T00:00:00Z',
      '2011-06-01T24:00:00Z',
      '2011-06-01T00:60:00Z',
      '2011-06-01T00:00:61Z',
      '2011-06-01T00:00:00.Z',
      '2011-06-01T00:00:00,5Z',
      ' 2011-06-01T00:00:00Z',
      '2011-06-01T00:00:00Z\n',
      '２011-06-01T00:00:00Z',
      '',
    ]) {
      expect(parseInstant(text), text).toBeNull()
    }
  })

  test('may be 29 February in a leap year, which every fourth century is', () => {
    expect(at('2000-03-01T00:00:00Z').ms - at('2000-02-29T00:00:00Z').ms).toBe(86_400_000)
    expect(at('2012-03-01T00:00:00Z').ms - at('2012-02-29T00:00:00Z').ms).toBe(86_400_000)
  })

  test('may have a second 60 only at 23:59:60 UTC', () => {
    expect(at('2016-12-31T23:59:60Z')).toEqual(at('2017-01-01T00:00:00Z'))
    expect(at('2017-01-01T08:59:60+09:00')).toEqual(at('2017-01-01T00:00:00Z'))
    for (const text of ['2016-12-31T22:59:60Z', '2016-12-31T23:30:60Z', '2017-01-01T00:30:60+01:00'])
      expect(parseInstant(text), text).toBeNull()
    // 23:29:60 at +23:30 is 23:59:60 UTC of the day before.
    expect(at('2017-01-01T23:29:60+23:30')).toEqual(at('2017-01-01T00:00:00Z'))
  })

  test('is refused past the maximum length, even if valid', () => {
    const long = (digits: number) => `2012-01-01T00:00:00.${'0'.repeat(digits)}Z`
    expect(parseInstant(long(dateTimeCharsMax - 21))).not.toBeNull()
    expect(parseInstant(long(dateTimeCharsMax - 20))).toBeNull()
  })

  test('is the instant that Date computes, for every offset', () => {
    fc.assert(
      fc.property(
        fc.date({
          min: new Date('0001-01-02T00:00:00Z'),
          max: new Date('9998-12-30T00:00:00Z'),
          noInvalidDate: true,
        }),
        fc.integer({ min: -1439, max: 1439 }),
        (date, offsetMinutes) => {
          const local = new Date(date.getTime() + offsetMinutes * 60_000).toISOString().slice(0, 23)
          const minutes = Math.abs(offsetMinutes)
          const offset = [Math.floor(minutes / 60), minutes % 60]
            .map((n) => String(n).padStart(2, '0'))
            .join(':')
          expect(at(`${local}${offsetMinutes < 0 ? '-' : '+'}${offset}`)).toEqual({
            ms: date.getTime(),
            fraction: 0,
          })
        },
      ),
    )
  })

  test('keeps digits beyond the millisecond for comparison', () => {
    const order = ['00.123', '00.1230000001', '00.12300001', '00.1239999999999', '00.124', '01']
    const instants = order.map((second) => at(`2012-01-01T00:00:${second}Z`))
    instants.forEach((instant, i) => {
      instants.forEach((other, k) => {
        expect(Math.sign(compareInstants(instant, other)), `${order[i]} and ${order[k]}`).toBe(
          Math.sign(i - k),
        )
      })
    })
    // The 18 digits that docs/contract.md promises; a double cannot hold all 19-digit fractions.
    const [earlier, later] = ['7', '8'].map((last) => at(`2012-01-01T00:00:00.${'9'.repeat(17)}${last}Z`))
    expect(compareInstants(earlier!, later!)).toBeLessThan(0)
    // More digits than a double holds are not rounded up to the next millisecond.
    expect(at(`2012-01-01T00:00:00.123${'9'.repeat(30)}Z`).fraction).toBeLessThan(1)
  })
})

test('a cycle id is the minute in KST, even across midnight', () => {
  expect(cycleIdOf(Date.parse('2013-06-05T14:55:00Z'))).toBe('20130605T2355')
  expect(cycleIdOf(Date.parse('2013-06-05T15:00:00Z'))).toBe('20130606T0000')
})

test('two boundaries that a date-time can name never share a cycle id', () => {
  // 0000-01-01T00:00:00+23:55 is in the year before 0, in KST; 9999-12-31T15:00:00Z in the year 10000.
  const early = at('0000-01-01T00:00:00+23:55').ms
  expect(cycleIdOf(early)).not.toMatch(/^\d{8}T\d{4}$/)
  expect(cycleIdOf(at('9999-12-31T15:00:00Z').ms)).not.toMatch(/^\d{8}T\d{4}$/)
  expect(cycleIdOf(at('0000-01-01T00:00:00+09:00').ms)).toBe('00000101T0000')
  expect(cycleIdOf(at('9999-12-31T14:55:00Z').ms)).toBe('99991231T2355')
})

test('the next boundary is a multiple of five minutes, at most five minutes later', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4e12 }), (ms) => {
      const next = nextBoundary(ms)
      expect(next).toBeGreaterThan(ms)
      expect(next - ms).toBeLessThanOrEqual(300_000)
      expect(next % 300_000).toBe(0)
    }),
  )
  expect([0, 1, 299_999, 300_000, 300_001].map(nextBoundary)).toEqual([
    300_000, 300_000, 300_000, 600_000, 600_000,
  ])
})

test('the time of day in KST is nine hours ahead of UTC, even before 1970', () => {
  expect(kstTimeOfDay(0)).toBe(9 * 3_600_000)
  expect(kstTimeOfDay(Date.parse('0001-01-01T16:00:00Z'))).toBe(3_600_000)
})
