/** What commands print: results as text for a terminal, or as JSON. */
import { expect, test } from 'vitest'
import { integerArgument, printResult, processContext } from './context.js'
import { CommandError, reportFailure } from './failure.js'

function printed(flags: { readonly json?: true }): string {
  const texts: string[] = []
  const value = { version: 'w\x1b[2J' }
  const context = { ...processContext(), print: (text: string) => void texts.push(text) }
  printResult(context, flags, value, () => `weights ${value.version}\r\u202e\n  in force\n`)
  return texts.join('')
}

test('a text has no control characters but line feeds, whoever wrote the values', () => {
  expect(printed({})).toBe('weights w [2J  \n  in force\n')
})

test('JSON has the values as they are', () => {
  expect(JSON.parse(printed({ json: true }))).toEqual({ version: 'w\x1b[2J' })
})

test('a failure is one line without control characters', () => {
  const lines: string[] = []
  const error = new CommandError('the response names w\x1b[2J\n  in force\n')
  expect(reportFailure(error, {}, (line) => void lines.push(line))).toBe(1)
  expect(lines).toEqual(['understudy: the response names w [2J; in force\n'])
})

test('an integer of a flag lies in its range, both ends included', () => {
  const parse = integerArgument(1, 9)
  expect(['1', '2', '9'].map(parse)).toEqual([1, 2, 9])
  for (const text of ['0', '10', '1.5', '', ' ', 'x', '-1'])
    expect(() => parse(text), text).toThrow('It must be an integer from 1 to 9.')
  expect(integerArgument(0)('0')).toBe(0)
  expect(() => integerArgument(0)('-1')).toThrow('It must be an integer of at least 0.')
})
