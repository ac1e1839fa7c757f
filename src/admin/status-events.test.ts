/** When the page is told of another status, and of other models. */
import { expect, test } from 'vitest'
import type { Check } from '../contract/index.js'
import type { ServerSources } from '../server/index.js'
import { statusEvents } from './status-events.js'

const working: Check = { check: 'model', status: 'ok', reasons: [{ code: 'model_serves' }] }
const quietFor = (age_s: number): Check => ({
  check: 'last_cycle',
  status: 'warn',
  reasons: [{ code: 'last_cycle', cycle_id: '20250303T0900', age_s }],
})
const replaced: Check = {
  check: 'model',
  status: 'warn',
  reasons: [{ code: 'model_replaced', version: 'a', failed: 'b', problem: 'no score' }],
}
const notLoaded: Check = {
  check: 'model',
  status: 'warn',
  reasons: [{ code: 'version_not_loaded', version: 'b', problem: 'no graph' }],
}

function watched() {
  const state = { count: 1, versions: ['a'], failures: [] as string[], lines: [working] }
  const events: string[] = []
  const send = statusEvents({
    sources: {
      get models() {
        return { versions: state.versions, status: { failures: state.failures } }
      },
    } as unknown as ServerSources,
    streams: {
      get count() {
        return state.count
      },
      send: (name) => events.push(name),
    },
    checks: { run: () => Promise.resolve(state.lines) },
  })
  /** The events of one comparison. */
  const compared = async (change: Partial<typeof state> = {}): Promise<string[]> => {
    Object.assign(state, change)
    await send()
    return events.splice(0)
  }
  return compared
}

test('an event is sent when its content has changed, and not again', async () => {
  const compared = watched()
  expect(await compared()).toEqual(['models', 'status'])
  expect(await compared()).toEqual([])
  expect(await compared({ versions: ['a', 'b'] })).toEqual(['models'])
  expect(await compared({ failures: ['b'] })).toEqual(['models'])
  expect(await compared({ lines: [{ ...working, status: 'fail' }] })).toEqual(['status'])
  expect(await compared()).toEqual([])
})

test('another reason of the same status is a change, and another figure of the same reason is none', async () => {
  const compared = watched()
  await compared({ lines: [replaced, quietFor(901)] })
  expect(await compared({ lines: [replaced, quietFor(902)] })).toEqual([])
  expect(await compared({ lines: [notLoaded, quietFor(903)] })).toEqual(['status'])
})

test('without an open stream nothing is compared; the next stream gets what has changed meanwhile', async () => {
  const compared = watched()
  await compared()
  expect(await compared({ count: 0, versions: ['b'] })).toEqual([])
  expect(await compared({ count: 1 })).toEqual(['models'])
})
