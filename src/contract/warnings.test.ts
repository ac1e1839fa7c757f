/** The lines in `warnings` of a response. */
import { expect, test } from 'vitest'
import { warningCodes, warningLine, warningText, type WarningCode } from './warnings.js'

test('a warning about posts is its sentence, their number and the first of them', () => {
  expect(warningText({ code: 'removal_not_pending', count: 2, detail: 'g/1, g/2' })).toBe(
    'removal of a post that is not pending (2): g/1, g/2',
  )
})

test('a warning about something else has no number, and a count of zero is a number', () => {
  expect(warningText({ code: 'late_cycle', count: null, detail: '20240301T0000' })).toBe(
    'late cycle: 20240301T0000',
  )
  expect(warningText({ code: 'images_not_encoded', count: 0, detail: '' })).toBe(
    'expected images not all encoded, scored without them (0): ',
  )
})

test('each code has a sentence of its own', () => {
  const sentences = warningCodes.map((code) => warningText({ code, count: null, detail: '' }))
  expect(new Set(sentences).size).toBe(warningCodes.length)
})

test('readers of another language get its sentence, with the same number and detail', () => {
  const sentences = Object.fromEntries(warningCodes.map((code) => [code, code.toUpperCase()]))
  const late = { code: 'late_cycle', count: 3, detail: 'x' } as const
  expect(warningLine(late, sentences as Record<WarningCode, string>)).toBe('LATE_CYCLE (3): x')
})
