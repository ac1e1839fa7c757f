/** Numbers and times as commands print them. */
import { expect, test } from 'vitest'
import { count, kstTime, milliseconds, minutes, number, percent } from './format.js'

test('a time is that of Korea, to the minute', () => {
  expect(kstTime(Date.parse('2026-03-01T15:05:59Z'))).toBe('2026-03-02 00:05')
})

test('numbers have the digits that a reader needs', () => {
  expect(count(1234567)).toBe('1,234,567')
  expect(number(0.12345)).toBe('0.123')
  expect(percent(0.125, 1)).toBe('12.5 %')
  expect([milliseconds(12.34), milliseconds(123.4)]).toEqual(['12.3 ms', '123 ms'])
  expect([minutes(119), minutes(120)]).toEqual(['119 min', '2.0 h'])
})

test('an unknown value is a dash', () => {
  expect([kstTime(null), number(null), percent(null), minutes(null)]).toEqual(['–', '–', '–', '–'])
})
