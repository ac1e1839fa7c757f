/** What `understudy status` prints of the state of a service. */
import { expect, test } from 'vitest'
import type { Now } from '../../contract/index.js'
import { statusText } from './status-command.js'

const ready: Now = {
  time: '2026-03-02T00:06:30.000Z',
  started_at: '2026-03-01T15:00:00.000Z',
  version: '1.0.0',
  status: 'ok',
  checks: [{ check: 'model', status: 'ok', reasons: [{ code: 'model_serves' }] }],
  model: { version: 'v1', kind: 'trained', provider: 'cpu' },
  loading_version: null,
  shadows: [],
  failed_versions: [],
  weights_version: 'w1',
  pending: 0,
  last_cycle: null,
  first_cycle_command: null,
  last_cycle_id: '20260302T0900',
  last_cycle_received_at: '2026-03-02T00:00:01.000Z',
  next_cycle: { due_at: '2026-03-02T00:05:00.000Z', overdue_from: '2026-03-02T00:06:00.000Z' },
  first_scores: { on_time: 0, late: 0, never: 0, overdue: 0, share: null, target: 0.99 },
  queue: { cycles: 0, cycles_max: 5, texts: 0, images: 0 },
  storage: { size_bytes: null, free_bytes: null },
  memory: { resident_bytes: 0, heap_used_bytes: 0 },
}
const starting: Now = {
  ...ready,
  status: 'degraded',
  model: null,
  loading_version: 'v1',
  checks: [{ check: 'model', status: 'fail', reasons: [{ code: 'no_model' }] }],
}

/** The value of a row. */
function shown(now: Now, name: string): string | undefined {
  return statusText(now)
    .split('\n')
    .find((line) => line.startsWith(`${name}  `))
    ?.slice(name.length)
    .trim()
}

test('times are in KST', () => {
  expect(shown(ready, 'time')).toBe('2026-03-02 09:06:30 KST')
  expect(shown(ready, 'running since')).toBe('2026-03-02 00:00:00 KST, version 1.0.0')
  expect(shown(ready, 'last cycle')).toBe('20260302T0900, received 2026-03-02 09:00:01 KST')
})

test.each([
  ['59 s after the cycle is due', '2026-03-02T00:05:59.000Z', '2026-03-02 09:05:00 KST'],
  ['60 s after it', '2026-03-02T00:06:00.000Z', '2026-03-02 09:05:00 KST'],
  ['61 s after it', '2026-03-02T00:06:01.000Z', '2026-03-02 09:05:00 KST, 61 s overdue'],
  ['119 s after it', '2026-03-02T00:06:59.000Z', '2026-03-02 09:05:00 KST, 119 s overdue'],
  ['2 minutes after it', '2026-03-02T00:07:00.000Z', '2026-03-02 09:05:00 KST, 2 min overdue'],
  ['20 minutes after it', '2026-03-02T00:25:00.000Z', '2026-03-02 09:05:00 KST, 20 min overdue'],
])('%s: the next cycle is shown as the page shows it', (_, time, text) => {
  expect(shown({ ...ready, time }, 'next cycle due')).toBe(text)
})

test('no cycle of a repeated past is overdue, and none is due before the first', () => {
  const next_cycle = { due_at: '2026-02-01T00:05:00.000Z', overdue_from: null }
  expect(shown({ ...ready, next_cycle }, 'next cycle due')).toBe('2026-02-01 09:05:00 KST')
  expect(shown({ ...ready, next_cycle: null }, 'next cycle due')).toBe('unknown')
})

test('a service that loads its first model is loading; with another problem, or after a failure, it is degraded', () => {
  expect(shown(starting, 'status')).toBe('loading')
  expect(shown(starting, 'model')).toBe('none; v1 is being loaded')
  const full = { check: 'disk', status: 'fail', reasons: [{ code: 'disk_silent' }] } as const
  expect(shown({ ...starting, checks: [...starting.checks, full] }, 'status')).toBe('degraded')
  expect(shown({ ...starting, checks: [...starting.checks, { ...full, status: 'warn' }] }, 'status')).toBe(
    'loading',
  )
  expect(shown({ ...starting, loading_version: null }, 'status')).toBe('degraded')
  expect(shown({ ...ready, loading_version: 'v2' }, 'status')).toBe('ok')
})
