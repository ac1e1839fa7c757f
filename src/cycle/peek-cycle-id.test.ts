/** Cycle ids that are read from a body without decoding it. */
import { expect, test } from 'vitest'
import { peekCycleId } from './peek-cycle-id.js'

const peek = (json: string): string | null => peekCycleId(Buffer.from(json))

test('an id is found wherever it is, with any white space, and from the first bytes alone', () => {
  const id = '20250303T0900'
  expect(peek(`{"cycle_id":"${id}","cycle_time":`)).toBe(id)
  expect(peek(` {\n  "cycle_id" : "${id}"\n}`)).toBe(id)
  expect(peek(`{"cycle_time":"x","cycle_id":"${id}","removals":[]}`)).toBe(id)
  expect(peek(`{"candidates":[${'{},'.repeat(100_000)}{}],"cycle_id":"${id}","removals":[]}`)).toBe(id)
  expect(peek(`{"removals":[]${' '.repeat(1000)},"cycle_id": "${id}"}\n`)).toBe(id)
})

test('a view of other bytes has only its own id', () => {
  const bytes = Buffer.from('{"cycle_id":"20250303T0900"}')
  expect(peekCycleId(bytes.subarray(2))).toBeNull()
  expect(peekCycleId(bytes.subarray(0, 20))).toBeNull()
  expect(peekCycleId(bytes.subarray(1))).toBe('20250303T0900')
})

test('no id is found in other bodies', () => {
  for (const json of [
    '',
    '{',
    '{"cycle_id":"20250303T090',
    '{"cycle_id":"2025"}',
    '{"cycle_id":7}',
    '["cycle_id"]',
    String.raw`{"title":"\"cycle_id\":\"20250303T0900\""}`,
  ])
    expect(peek(json)).toBeNull()
})
