/**
 * Which id a body states at its start.
 */
import { expect, test } from 'vitest'
import { statedCycleId } from './stated-id.js'

const stated = (json: string): string | null => statedCycleId(Buffer.from(json))

test('an id that comes first is found, however the body is spaced, and in its first bytes alone', () => {
  expect(stated('{"cycle_id":"20250303T0900","cycle_time":')).toBe('20250303T0900')
  expect(stated(' {\n  "cycle_id" : "20250303T0900"\n}')).toBe('20250303T0900')
  expect(stated(`{"cycle_id":"20250303T0900",${' '.repeat(100_000)}`)).toBe('20250303T0900')
})

test('an id that comes last is found too', () => {
  expect(stated(`{"removals":[]${' '.repeat(1000)},"cycle_id": "20250303T0900"}\n`)).toBe('20250303T0900')
})

test('anything else states none', () => {
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
    expect(stated(json)).toBeNull()
})
