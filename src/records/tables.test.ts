/** Columns by name. */
import { expect, test } from 'vitest'
import { cycleColumn } from './tables.js'

test('the declaration of a column is found by its name', () => {
  expect(cycleColumn('results', 'outcome')).toMatchObject({ name: 'outcome', type: 'code' })
  expect(() => cycleColumn('results', 'views' as never)).toThrow('one of its table')
})
