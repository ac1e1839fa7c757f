/** The events of the page: who gets which, how many readers there are, and when status and models have changed. */
import { nextTurn } from '../base/index.js'
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { afterEach, expect, test, vi } from 'vitest'
import type { Check } from '../contract/index.js'
import type { ServerSources } from '../server/index.js'
import { EventStreams, statusEvents } from './event-streams.js'

const heartbeat = 'event: heartbeat\ndata: {"time":"1970-01-01T00:00:00.000Z","interval_ms":5000}\n\n'
const opening = `retry: 2000\n\n${heartbeat}`

class FakeResponse extends EventEmitter {
  text = ''
  destroyed = false
  isReading = true
  get writableLength(): number {
    return this.isReading ? 0 : this.text.length
  }
  writeHead(): this {
    return this
  }
  write(text: string): void {
    this.text += text
  }
  destroy(): void {
    this.destroyed = true
    this.emit('close')
  }
}

function opened(streams: EventStreams): FakeResponse {
  const response = new FakeResponse()
  streams.open()(response as unknown as ServerResponse)
  return response
}

afterEach(() => void vi.useRealTimers())

test('every stream receives each event once, in order', async () => {
  const streams = new EventStreams(() => 0)
  const responses = Array.from({ length: 60 }, () => opened(streams))
  streams.send('cycle', { n: 1 })
  streams.send('call', { n: 2 })
  for (let turn = 0; turn < 10; turn++) await nextTurn()
  const text = `${opening}event: cycle\ndata: {"n":1}\n\nevent: call\ndata: {"n":2}\n\n`
  expect(new Set(responses.map((response) => response.text))).toEqual(new Set([text]))
  streams.close()
  expect(streams.count).toBe(0)
})

test('a reader that is too slow is closed, and the others continue', async () => {
  const streams = new EventStreams(() => 0)
  const [slow, fast] = [opened(streams), opened(streams)]
  slow.isReading = false
  for (let round = 0; round < 40; round++) {
    streams.send('call', { text: 'x'.repeat(10_000) })
    await nextTurn()
  }
  expect({ slow: slow.destroyed, fast: fast.destroyed }).toEqual({ slow: true, fast: false })
  expect(slow.text.length).toBeLessThan(300_000)
  expect(streams).toMatchObject({ count: 1, droppedCount: 1 })
  streams.close()
})

test('at most 100 streams are open, and a closed one makes room', () => {
  const streams = new EventStreams(() => 0)
  const responses = Array.from({ length: 100 }, () => opened(streams))
  expect(() => streams.open()).toThrow(
    expect.objectContaining({ status: 503, retryAfterS: 10, reason: { code: 'too_many_streams' } }),
  )
  responses[0]?.destroy()
  opened(streams)
  streams.close()
})

test('a reader that disconnects before its stream opens takes no place', () => {
  const streams = new EventStreams(() => 0)
  const open = streams.open()
  const response = new FakeResponse()
  response.destroy()
  open(response as unknown as ServerResponse)
  expect([streams.count, response.text]).toEqual([0, ''])
  streams.close()
})

test('events that arrive faster than they are written are replaced by one that reports it', async () => {
  const streams = new EventStreams(() => 0)
  const response = opened(streams)
  for (let n = 0; n < 101; n++) streams.send('call', { n })
  await nextTurn()
  expect(response.text).toBe(`${opening}event: reset\ndata: {}\n\n`)
  streams.close()
})

test('a heartbeat with the time of the service opens a stream and follows every 5 s', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const streams = new EventStreams(() => 0)
  const response = opened(streams)
  expect(response.text).toBe(opening)
  vi.advanceTimersByTime(5000)
  await nextTurn()
  expect(response.text).toBe(`${opening}${heartbeat}`)
  streams.close()
})

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
