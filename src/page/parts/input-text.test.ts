/** The value of a model's input in the unit that a reader expects, instead of its logarithm. */
import { afterEach, expect, test } from 'vitest'
import type { InputUnit } from '../../contract/index.js'
import { setLanguage } from '../messages/index.js'
import { inputText } from './input-text.js'

afterEach(() => setLanguage('en'))

const text = (value: number, unit: InputUnit, logs = 0): string =>
  inputText({ form: 'named', of: 'text', unit, logs }, value)
const log = (value: number): number => Math.sign(value) * Math.log1p(Math.abs(value))

test.each([
  [1234, 'count', 0, '1,234'],
  [log(12_345), 'count', 1, '12.3K'],
  [log(-7), 'count', 1, '−7'],
  [log(log(40)), 'count', 2, '40'],
  [log(1.5), 'perHour', 1, '1.5/h'],
  [Math.log(2), 'times', 0, '×2.00'],
  [0.034, 'share', 0, '3.4%'],
  [0.25, 'factor', 0, '0.25'],
  [log(3.5), 'hours', 1, '3 h 30 min'],
  [0.5, 'days', 0, '12 h'],
  [log(5), 'minutes', 1, '5 min'],
  [1, 'flag', 0, 'yes'],
  [0.5, 'plain', 0, '0.500'],
] as const)('%d in %s after %i logarithms is %s', (value, unit, logs, expected) => {
  expect(text(value, unit, logs)).toBe(expected)
})

test('in Korean', () => {
  setLanguage('ko')
  expect(text(log(250), 'perHour', 1)).toBe('250/시간')
})
