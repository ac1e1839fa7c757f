/** Cycle ids that are read from the ends of a body without decoding it. */
import { expect, test } from 'vitest'
import { peekCycleId } from './peek-cycle-id.js'

const peek = (json: string): string | null => peekCycleId(Buffer.from(json))

test('an id at the start is found, with any white space, from the first bytes alone', () => {
  expect(peek('{"cycle_id":"20250303T0900","cycle_time":')).toBe('20250303T0900')
  expect(peek(' {\n  "cycle_id" : "20250303T0900"\n}')).toBe('20250303T0900')
  expect(peek(`{"cycle_id":"20250303T0900",${' '.repeat(100_000)}`)).toBe('20250303T0900')
})

test('an id at the end is found', () => {
  expect(peek(`{"removals":[]${' '.repeat(1000)},"cycle_id": "20250303T0900"}\n`)).toBe('20250303T0900')
})

test('no id is found anywhere else', () => {
  for (const json of [
    '',
    '{',
    '{"cycle_id":"20250303T090',
    '{"cycle_time":"x","cycle_id":"20250303T0900","removals":[]}',
    '"cycle_id":"20250303T0900"',
    '{"cycle_id":"2025"}',
    '["cycle_id"]',
    `${' '.repeat(64)}{"cycle_id":"20250303T0900","removals":[]}`,
  ])
    expect(peek(json)).toBeNull()
})
