/** Numbers and times as commands print them. */
import { expect, test } from 'vitest'
import { count, counted, kstTime, milliseconds, minutes, number, percent } from './format.js'

test('a time is that of Korea, to the minute', () => {
  expect(kstTime(Date.parse('2026-03-01T15:05:59Z'))).toBe('2026-03-02 00:05')
})

test('numbers have the digits that a reader needs', () => {
  expect(count(1234567)).toBe('1,234,567')
  expect(number(0.12345)).toBe('0.123')
  expect(percent(0.125, 1)).toBe('12.5 %')
  expect([12.34, 99.94, 100, 123.4].map(milliseconds)).toEqual(['12.3 ms', '99.9 ms', '100 ms', '123 ms'])
  expect([minutes(119), minutes(120)]).toEqual(['119 min', '2.0 h'])
})

test('one is singular, all other counts are plural', () => {
  expect([0, 1, 2, 1234].map((value) => counted(value, 'cycle'))).toEqual([
    '0 cycles',
    '1 cycle',
    '2 cycles',
    '1,234 cycles',
  ])
})

test('an unknown value is a dash', () => {
  expect([kstTime(null), number(null), percent(null), minutes(null)]).toEqual(['–', '–', '–', '–'])
})
