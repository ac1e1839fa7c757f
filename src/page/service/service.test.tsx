/** What the page knows of the service: its clock, its connection, its responses and calls, and what is read again when. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { callFixture } from '../../../test/helpers/page-fixtures.js'
import { ApiError, getJson } from './api.js'
import { Backoff } from './backoff.js'
import { mergedCalls, readAll, type Recorded } from './calls.js'
import { serverNowMs, setServerTime } from './clock.js'
import { Connection } from './connection.js'
import { Loader, staleData, type Query } from './query.js'

const page = { hidden: false, addEventListener: vi.fn() }

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000 })
  vi.stubGlobal('document', page)
  vi.stubGlobal('reportError', (error: unknown) => {
    throw error
  })
  page.hidden = false
})
afterEach(() => {
  vi.useRealTimers()
  vi.stubGlobal('document', undefined)
})

const ok = (json: unknown, status = 200): Response => new Response(JSON.stringify(json), { status })

test('the time is that of the service, and goes on with the clock of the machine', () => {
  setServerTime(5_000_000)
  vi.advanceTimersByTime(1500)
  expect(serverNowMs()).toBe(5_001_500)
})

describe('a response', () => {
  const get = () => getJson('/api/x', new AbortController().signal)

  test('that is in progress is requested again after a second', async () => {
    const fetch = vi
      .fn()
      .mockResolvedValueOnce(ok({}, 202))
      .mockResolvedValueOnce(ok({ a: 1 }))
    vi.stubGlobal('fetch', fetch)
    const data = get()
    await vi.advanceTimersByTimeAsync(999)
    expect(fetch).toHaveBeenCalledTimes(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(await data).toEqual({ a: 1 })
  })

  test('that is an error has its message, or its status', async () => {
    const error = { error: { code: 'c', message: 'the reason' } }
    const fetch = vi
      .fn()
      .mockResolvedValueOnce(ok(error, 503))
      .mockResolvedValueOnce(new Response('x', { status: 502 }))
    vi.stubGlobal('fetch', fetch.mockRejectedValueOnce(new TypeError('network')))
    await expect(get()).rejects.toMatchObject({ status: 503, message: 'the reason' })
    await expect(get()).rejects.toMatchObject({
      status: 502,
      message: 'the service responded with status 502',
    })
    await expect(get()).rejects.toMatchObject({ status: 0, message: 'the service does not respond' })
  })

  test('may succeed later if none arrived, if there were too many, or if the service failed', () => {
    const temporary = [0, 400, 401, 404, 429, 499, 500, 503].filter(
      (status) => new ApiError(status, '').isTemporary,
    )
    expect(temporary).toEqual([0, 429, 500, 503])
  })
})

test('delays double from one second up to 15 s, shortened by up to a quarter, until a success', () => {
  vi.spyOn(Math, 'random').mockReturnValue(0)
  const work = vi.fn()
  const backoff = new Backoff(work)
  const delays = Array.from({ length: 6 }, () => {
    const before = Date.now()
    backoff.schedule()
    vi.advanceTimersToNextTimer()
    return Date.now() - before
  })
  expect(delays).toEqual([750, 1500, 3000, 6000, 11_250, 11_250])
  backoff.schedule()
  backoff.reset()
  expect(vi.getTimerCount()).toBe(0)
  backoff.schedule()
  vi.advanceTimersByTime(750)
  expect(work).toHaveBeenCalledTimes(7)
  vi.restoreAllMocks()
})

describe('the calls', () => {
  const recorded = (instance: string, ...ids: readonly number[]): Recorded => ({
    instance,
    items: ids.map((id) => ({ ...callFixture, id })),
  })
  const idsOf = ({ items }: Recorded): number[] => items.map(({ id }) => id)

  test('are newest first, each once, up to a number', () => {
    expect(idsOf(mergedCalls(recorded('a', 3, 1), recorded('a', 2, 3, 4), 9))).toEqual([4, 3, 2, 1])
    expect(idsOf(mergedCalls(recorded('a', 3, 1), recorded('a', 2, 4), 2))).toEqual([4, 3])
  })

  test('of another process of the service replace those before', () => {
    expect(mergedCalls(recorded('a', 9, 8), recorded('b', 1), 9)).toEqual(recorded('b', 1))
  })

  test('are read from the start again if the service restarts between two pages', async () => {
    const pages = [
      { ...recorded('a', 9, 8), is_last: false },
      { ...recorded('b', 2, 1), is_last: true },
      { ...recorded('b', 3, 2), is_last: false },
      { ...recorded('b', 1), is_last: true },
    ]
    const asked: string[] = []
    vi.stubGlobal('fetch', (path: string) => {
      asked.push(path)
      return Promise.resolve(ok(pages[asked.length - 1]))
    })
    const read = await readAll('/api/cycles?list=calls', new AbortController().signal)
    expect(read).toEqual(recorded('b', 3, 2, 1))
    expect(asked.map((path) => path.split('&before=')[1])).toEqual([undefined, '8', undefined, '2'])
  })
})

/** Stands in for the EventSource of a browser. */
class FakeSource {
  static all: FakeSource[] = []
  readonly listeners = new Map<string, (event: { readonly data: string }) => void>()
  onopen: (() => void) | null = null
  onerror: (() => void) | null = null
  isClosed = false

  constructor() {
    FakeSource.all.push(this)
  }

  addEventListener(name: string, listener: (event: { readonly data: string }) => void): void {
    this.listeners.set(name, listener)
  }

  send(name: string, data: object): void {
    this.listeners.get(name)?.({ data: JSON.stringify(data) })
  }

  close(): void {
    this.isClosed = true
  }
}

describe('the connection', () => {
  const second = 1000
  let responseStatus = 200

  beforeEach(() => {
    responseStatus = 200
    FakeSource.all = []
    vi.stubGlobal('EventSource', FakeSource)
    vi.stubGlobal('fetch', () => Promise.resolve(ok({}, responseStatus)))
    page.addEventListener.mockReset()
  })

  const newest = (): FakeSource => FakeSource.all.at(-1)!

  function opened(): { readonly connection: Connection; readonly names: string[] } {
    const connection = new Connection()
    const names: string[] = []
    connection.events.on((name) => names.push(name))
    connection.open()
    newest().onopen?.()
    return { connection, names }
  }

  /** The tab is hidden or shown. */
  function show(isShown: boolean): void {
    page.hidden = !isShown
    for (const [, listener] of page.addEventListener.mock.calls as [string, () => void][]) listener()
  }

  test('is live once the stream is open, and everything is read again', () => {
    const { connection, names } = opened()
    expect([connection.state, names]).toEqual(['live', ['reset']])
    newest().send('cycle', {})
    expect(names).toEqual(['reset', 'cycle'])
  })

  test('is lost two heartbeats after the last sign of life, not before, and opens again', async () => {
    const { connection, names } = opened()
    newest().send('heartbeat', { time: '2026-03-02T04:00:00Z', interval_ms: 7 * second })
    expect(serverNowMs()).toBe(Date.parse('2026-03-02T04:00:00Z'))
    // The interval that the heartbeat states holds at once.
    await vi.advanceTimersByTimeAsync(13 * second)
    expect(connection.state).toBe('live')
    newest().send('call', {})
    await vi.advanceTimersByTimeAsync(14 * second - 1)
    expect(connection.state).toBe('live')
    await vi.advanceTimersByTimeAsync(1)
    expect([connection.state, newest().isClosed]).toEqual(['lost', true])
    await vi.advanceTimersByTimeAsync(second)
    expect(FakeSource.all).toHaveLength(2)
    newest().onopen?.()
    expect([connection.state, names]).toEqual(['live', ['reset', 'call', 'reset']])
  })

  test('is denied if the service does not accept the session, and is tried again', async () => {
    const { connection } = opened()
    responseStatus = 401
    newest().onerror?.()
    expect(connection.state).toBe('lost')
    await vi.advanceTimersByTimeAsync(0)
    expect(connection.state).toBe('denied')
    await vi.advanceTimersByTimeAsync(second)
    // Another failure is no news before its reason is known.
    newest().onerror?.()
    expect(connection.state).toBe('denied')
    await vi.advanceTimersByTimeAsync(2 * second)
    newest().onopen?.()
    expect(connection.state).toBe('live')
  })

  test('of a hidden tab is closed after a minute, and opens when the tab is shown', async () => {
    const { connection } = opened()
    newest().send('heartbeat', { time: '2026-03-02T04:00:00Z', interval_ms: 90 * second })
    show(false)
    await vi.advanceTimersByTimeAsync(60 * second - 1)
    expect(newest().isClosed).toBe(false)
    show(true)
    await vi.advanceTimersByTimeAsync(1)
    expect(newest().isClosed).toBe(false)
    show(false)
    await vi.advanceTimersByTimeAsync(60 * second)
    expect([newest().isClosed, connection.state]).toEqual([true, 'connecting'])
    show(true)
    expect(FakeSource.all).toHaveLength(2)
  })

  test('that is lost is not opened again once the tab has been hidden for a minute', async () => {
    const { connection } = opened()
    newest().send('heartbeat', { time: '2026-03-02T04:00:00Z', interval_ms: 90 * second })
    show(false)
    await vi.advanceTimersByTimeAsync(60 * second - 1)
    // It would be opened again up to a second later.
    newest().onerror?.()
    expect(connection.state).toBe('lost')
    await vi.advanceTimersByTimeAsync(60 * second)
    expect([FakeSource.all.length, connection.state]).toEqual([1, 'connecting'])
    show(true)
    expect(FakeSource.all).toHaveLength(2)
  })
})

describe('what is read', () => {
  let pending: { readonly resolve: (value: unknown) => void; readonly reject: (error: unknown) => void }[] =
    []
  let changes: Partial<Query<unknown>>[] = []

  function loader(): Loader<unknown> {
    pending = []
    changes = []
    const read = () => new Promise((resolve, reject) => pending.push({ resolve, reject }))
    return new Loader('/api/models', read, (change) => changes.push(change))
  }

  test('is read once at a time: events meanwhile cause one read afterwards', async () => {
    const models = loader()
    for (let n = 0; n < 3; n++) models.refresh()
    expect(pending).toHaveLength(1)
    pending[0]?.resolve(1)
    await vi.advanceTimersByTimeAsync(0)
    expect(pending).toHaveLength(2)
    pending[1]?.resolve(2)
    await vi.advanceTimersByTimeAsync(0)
    expect([pending.length, ...changes.map(({ data }) => data)]).toEqual([2, 1, 2])
    models.stop()
  })

  test('is read in a hidden tab once, and again when it is shown', async () => {
    page.hidden = true
    const models = loader()
    models.refresh()
    pending[0]?.resolve(1)
    await vi.advanceTimersByTimeAsync(0)
    models.refresh()
    models.refreshIfDue()
    expect(pending).toHaveLength(1)
    page.hidden = false
    models.refreshIfDue()
    expect(pending).toHaveLength(2)
    models.stop()
  })

  test('is repeated after an error that may pass, and not after another one', async () => {
    const models = loader()
    models.refresh()
    pending[0]?.reject(new ApiError(503, 'busy'))
    await vi.advanceTimersByTimeAsync(1000)
    expect(pending).toHaveLength(2)
    pending[1]?.reject(new ApiError(400, 'wrong'))
    await vi.advanceTimersByTimeAsync(60_000)
    expect(pending).toHaveLength(2)
    expect(changes.map(({ error }) => error?.message)).toEqual(['busy', 'wrong'])
    models.stop()
  })

  test('is stale since its last success after an error, except for what no longer exists, until the next success', async () => {
    setServerTime(2_000_000)
    const models = loader()
    models.refresh()
    pending[0]?.resolve(1)
    await vi.advanceTimersByTimeAsync(500)
    models.refresh()
    pending[1]?.reject(new ApiError(404, 'gone'))
    await vi.advanceTimersByTimeAsync(0)
    expect(staleData()).toEqual([])
    models.refresh()
    pending[2]?.reject(new ApiError(503, 'busy'))
    await vi.advanceTimersByTimeAsync(0)
    expect(staleData()).toEqual([{ what: 'models', sinceMs: 2_000_000, reason: 'busy' }])
    await vi.advanceTimersByTimeAsync(1000)
    pending[3]?.resolve(2)
    await vi.advanceTimersByTimeAsync(0)
    expect(staleData()).toEqual([])
    models.stop()
  })

  test('is not reported after it is no longer shown', async () => {
    const models = loader()
    models.refresh()
    models.stop()
    pending[0]?.reject(new ApiError(503, 'busy'))
    await vi.advanceTimersByTimeAsync(60_000)
    expect([pending.length, changes]).toEqual([1, []])
  })
})
