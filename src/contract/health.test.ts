/** Reasons of health checks as sentences. */
import { expect, test } from 'vitest'
import { reasonsInShort, reasonsText } from './health.js'

test('reasons are sentences in their order; counts of one are singular', () => {
  const fails = { code: 'model_fails', problem: 'the graph returns an error' } as const
  const ahead = { code: 'clocks_differ', cycle_id: '20240301T0000', ahead_s: 7 } as const
  expect(reasonsText([{ code: 'no_cycle' }, { ...fails, cycles: 1 }])).toBe(
    'no cycle has arrived yet; the model failed the last cycle: the graph returns an error',
  )
  expect(reasonsInShort([{ code: 'no_cycle' }, { ...fails, cycles: 2 }])).toBe(
    'no cycle has arrived yet; the model failed the last 2 cycles',
  )
  expect(reasonsText([{ ...ahead, cycles: 1 }])).toMatch(/^a cycle was refused .* 20240301T0000 by 7 s:/)
  expect(reasonsText([{ ...ahead, cycles: 3 }])).toMatch(/^3 cycles were refused /)
})
