/** The frame: the state of the service that each view shows. */
import '../../test/helpers/page-globals.js'
import { renderToString } from 'preact-render-to-string'
import { beforeEach, expect, test, vi } from 'vitest'
import { nowFixture } from '../../test/helpers/page-fixtures.js'
import { responses, stale } from '../../test/helpers/page-queries.js'
import { badgesOf, textOf } from '../../test/helpers/rendered-page.js'
import { App } from './app.js'
import type { Check } from './service/api.js'
import { setServerTime } from './service/clock.js'

const connection = vi.hoisted(() => ({ state: 'connecting' }))
vi.mock('./service/query.js', () => import('../../test/helpers/page-queries.js'))
vi.mock('./service/connection.js', async (load) => ({
  ...(await load<object>()),
  useConnectionState: () => connection.state,
}))

beforeEach(() => {
  vi.stubGlobal('window', globalThis)
  // Ten seconds after the next cycle is due.
  setServerTime(Date.parse('2026-03-02T04:00:10Z'))
  return () => vi.stubGlobal('window', undefined)
})

/** The state that the frame shows for checks with these states. */
function state(...states: readonly Check['status'][]): [badges: string[], text: string] {
  const facts: readonly Omit<Check, 'status'>[] = [
    { check: 'service', reasons: [{ code: 'accepts_cycles' }] },
    { check: 'model', reasons: [{ code: 'no_model' }] },
    { check: 'storage', reasons: [{ code: 'storage_refuses' }] },
    { check: 'last_cycle', reasons: [{ code: 'no_cycle' }] },
  ]
  const checks = states.map((status, i): Check => ({ ...facts[i]!, status }))
  responses.set('/api/now', { ...nowFixture, checks })
  const html = renderToString(<App />)
  const shown = /<p class="service-state">.*?<\/p>/s.exec(html)?.[0] ?? ''
  return [badgesOf(shown), textOf(shown)]
}

test('all checks ok: the service works', () => {
  expect(state('ok', 'ok')).toEqual([['ok working'], 'working connecting'])
})

test('one check at warn and none at fail is a warning, with its reason', () => {
  expect(state('ok', 'ok', 'ok', 'warn')).toEqual([
    ['warn warning'],
    'warning last cycle: arrived 4 min agoconnecting',
  ])
})

test('one check at fail is degraded, whatever warns before it', () => {
  expect(state('warn', 'ok', 'fail', 'fail')).toEqual([
    ['fail degraded'],
    'degraded storage: storage refuses writesconnecting',
  ])
})

test('an overdue cycle is a warning, although each check of the service is ok', () => {
  setServerTime(Date.parse('2026-03-02T04:07:00Z'))
  expect(state('ok', 'ok', 'ok', 'ok')).toEqual([
    ['warn warning'],
    'warning next cycle: 7 min overdueconnecting',
  ])
})

test.each([
  ['live', 'Stale since 13:00:09 KST (picks), because too busy.'],
  ['lost', 'No connection to the service. What is shown is from 09:00:00 KST. Trying again.'],
  [
    'denied',
    'The service does not accept this session. What is shown is from 09:00:00 KST. Open the address with the token that ' +
      'the service prints at startup.',
  ],
])('while the connection is %s, one notice has the reason for which data is stale', (name, notice) => {
  connection.state = name
  responses.set('/api/now', nowFixture)
  stale.splice(0, 1, { what: 'picks', sinceMs: Date.parse('2026-03-02T04:00:09Z'), reason: 'too busy' })
  const html = renderToString(<App />)
  expect([...html.matchAll(/<p class="notice .*?<\/p>/gs)].map(([text]) => textOf(text))).toEqual([notice])
})
