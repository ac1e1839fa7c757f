/** Failures of storage and of the model: they change nothing, and the same call succeeds later. */
import { beforeEach, describe, expect, test } from 'vitest'
import { bytesOf, candidate, cycleBody, cycleMs, reading, removal } from '../../test/helpers/bodies.js'
import { callsOf, nowMs, refusal, serviceParts } from '../../test/helpers/cycle-service.js'
import { FakeModel } from '../../test/helpers/fake-model.js'
import { createMemoryContents, memoryStore, type MemoryContents } from '../../test/helpers/memory-store.js'
import '../../test/helpers/poisoned-memory.js'
import {
  jsonBodyBytesMax,
  pendingPostsMax,
  type CycleRequest,
  type CycleResponse,
} from '../contract/index.js'
import { createMemoryStore, StoreError, type CycleContents, type Store } from '../store/index.js'
import type { ModelAbsence } from '../model/index.js'
import { CycleService, type CycleServiceParts } from './service.js'
import { StageClock } from './stage-clock.js'
import { RequestBody } from './intake/index.js'

let contents: MemoryContents
let model: FakeModel
let storeFails: boolean
let serving: () => FakeModel | null
let absence: ModelAbsence | null
let service: CycleService

function parts(over: Partial<CycleServiceParts> = {}): CycleServiceParts {
  const beforeWrite = (): void => {
    if (storeFails) throw new StoreError('full', 'fails on purpose')
  }
  return serviceParts({
    store: memoryStore({ contents, beforeWrite }),
    model: () => serving(),
    modelAbsence: () => absence,
    ...over,
  })
}

beforeEach(async () => {
  contents = createMemoryContents()
  model = new FakeModel()
  storeFails = false
  serving = () => model
  absence = null
  service = await CycleService.open(parts())
})

const { submit, responseTo } = callsOf(() => service)

const first = (): CycleRequest =>
  cycleBody(0, { candidates: [candidate('g', 1)], engagement: [reading('g', 1, cycleMs(0))] })

describe('a failure', () => {
  const second = (): CycleRequest =>
    cycleBody(1, {
      candidates: [candidate('g', 2)],
      removals: [removal('g', 1)],
      engagement: [reading('g', 2, cycleMs(1))],
    })

  test.each([
    ['storage', (failing: boolean) => (storeFails = failing)],
    ['model', (failing: boolean) => (model.failing = failing)],
  ])(
    'of the %s is 503, leaves everything as it was, and the same call succeeds later',
    async (_name, setFailing) => {
      await submit(first())
      setFailing(true)
      expect(await refusal(submit(second()))).toMatchObject({ status: 503 })
      expect(service.pendingCount).toBe(1)
      expect(
        await refusal(Promise.resolve().then(() => service.intake.response(second().cycle_id))),
      ).toMatchObject({
        status: 404,
      })
      expect(service.problems()).toHaveLength(1)
      setFailing(false)
      const { results } = await responseTo(second())
      expect(results.map((row) => [row.post_no, row.status])).toEqual([[2, 'scored']])
      expect(service.problems()).toEqual([])
    },
  )

  test('after which a cycle of another process was found is 503 for a cycle that was planned before', async () => {
    const store = memoryStore({ contents })
    service = await CycleService.open(parts({ store }))
    await submit(first())
    let predict = (): void => undefined
    model.blockedBy = new Promise((resolve) => (predict = resolve))
    const refused = refusal(submit(second()))
    const other = await CycleService.open(parts({ store, model: () => new FakeModel() }))
    const between = cycleBody(2, { candidates: [candidate('g', 3)] })
    await other.intake.submit(new RequestBody(bytesOf(between)), nowMs, new StageClock(0))
    predict()
    expect(await refused).toMatchObject({ status: 503 })
    const reopened = await CycleService.open(parts())
    expect(() => reopened.intake.response(second().cycle_id)).toThrow()
    expect(reopened.pendingCount).toBe(2)
  })

  test('of storage that has lost the last cycle is 503, and the pool stays as it was', async () => {
    await submit(first())
    contents.cycles.remove(1)
    await expect(submit(second())).rejects.toMatchObject({
      status: 503,
      message: 'storage refuses writes',
      // The log shows it.
      cause: {
        message: expect.stringMatching(
          /^the cycle at position 1 is no longer in the file: .*restart$/,
        ) as string,
      },
    })
    expect(service.pendingCount).toBe(1)
  })

  test('of storage makes the service not ready until a write succeeds', async () => {
    storeFails = true
    await refusal(submit(first()))
    expect(service.problems()).toHaveLength(1)
    storeFails = false
    await submit(first())
    expect(service.problems()).toEqual([])
  })

  test('of a model in one row names the version, the cycle and the post', async () => {
    await submit(first())
    model.wrongRow = 1
    const both = cycleBody(1, {
      candidates: [candidate('h', 7)],
      engagement: [reading('g', 1, cycleMs(1)), reading('h', 7, cycleMs(1))],
    })
    await expect(submit(both)).rejects.toMatchObject({
      cause: { message: `fake-1, cycle ${both.cycle_id}, post h/7: head p_up: row` },
    })
  })

  test('of a model in one row has a bounded message for any post name', async () => {
    model.wrongRow = 0
    const gallId = `\u001b[31m${'x'.repeat(1000)}`
    const one = cycleBody(0, {
      candidates: [candidate(gallId, 7)],
      engagement: [reading(gallId, 7, cycleMs(0))],
    })
    const message = expect.stringMatching(/, post \?\[31mx{75}…\/7: head p_up: row$/) as string
    await expect(submit(one)).rejects.toMatchObject({ cause: { message } })
  })

  test('of a model in one row degrades the service until the model succeeds, or another one serves', async () => {
    model.wrongRow = 0
    await refusal(submit(first()))
    expect(service.problems()).toHaveLength(1)
    // A cycle without rows does not call the model.
    await submit(cycleBody(-1, {}))
    expect(service.problems()).toHaveLength(1)
    model.wrongRow = null
    await submit(first())
    expect(service.problems()).toEqual([])
    model.wrongRow = 0
    await refusal(submit(second()))
    expect(service.problems()).toHaveLength(1)
    model = new FakeModel()
    expect(service.problems()).toEqual([])
  })

  test('of a model degrades the service, ready all the same, with the reason, until a cycle succeeds', async () => {
    model.failing = true
    await refusal(submit(first()))
    const reason = `fake-1, cycle ${first().cycle_id}: the fake model fails on purpose`
    const fails = (cycles: number) => ({ code: 'model_fails', problem: reason, cycles })
    expect(service.problems()).toEqual([{ check: 'model', severity: 'warn', reason: fails(1) }])
    await refusal(submit(first()))
    expect(service.problems()).toEqual([{ check: 'model', severity: 'warn', reason: fails(2) }])
    // The process restarts: still the same problem, and no other one.
    const { failures } = service
    const fake = model
    serving = () => null
    absence = { version: 'fake-1', reason: 'its process restarts', isRestarting: true }
    expect(service.problems()).toMatchObject([{ severity: 'warn', reason: fails(2) }])
    // A repeat of the cycle meanwhile is no other failure, another cycle is.
    await refusal(submit(first()))
    expect(failures.current?.cycleCount).toBe(2)
    await refusal(submit(second()))
    await refusal(submit(second()))
    expect(failures.current).toMatchObject({ cycleCount: 3, reason })
    serving = () => fake
    model.failing = false
    await submit(first())
    expect(service.problems()).toEqual([])
  })

  test('to load a version counts each cycle once, and the service is not ready', async () => {
    serving = () => null
    expect(service.problems()).toEqual([{ check: 'model', severity: 'fail', reason: { code: 'no_model' } }])
    absence = { version: 'v9', reason: 'v9 failed to load: no file', isRestarting: false }
    for (const body of [first(), first(), second()]) await refusal(submit(body))
    expect(service.failures.current).toMatchObject({ version: 'v9', cycleCount: 2 })
    const reason = { code: 'model_fails', problem: 'v9 failed to load: no file', cycles: 2 }
    expect(service.problems()).toEqual([{ check: 'model', severity: 'fail', reason }])
    // A version is loaded now: what another one has not loaded is no problem of it.
    serving = () => model
    expect(service.problems()).toEqual([])
  })

  test('of a process names no post, and scores no cycle twice', async () => {
    model.crashesOnce = true
    await refusal(submit(first()))
    expect(service.problems()).toMatchObject([
      { reason: { problem: `fake-1, cycle ${first().cycle_id}: the process of the model has crashed` } },
    ])
    model.isDown = false
    await submit(first())
    expect(service.problems()).toEqual([])
  })

  test('is the response to all calls that wait for the cycle', async () => {
    model.failing = true
    const calls = await Promise.allSettled([1, 2, 3].map(() => submit(first())))
    expect(calls.map((call) => call.status)).toEqual(['rejected', 'rejected', 'rejected'])
  })
})

/** A store whose writes are stored and then reject. While `unreadable()`, the cycle is not found after one, and not read. */
function lateStore(unreadable = (): boolean => false): Store {
  const { store } = parts()
  let isSearched = true
  return new Proxy(store, {
    get(target, name) {
      if (name === 'appendCycle') {
        return async (record: CycleContents): Promise<never> => {
          await target.appendCycle(record)
          isSearched = false
          throw new StoreError('failed', 'the confirmation of the disk was lost')
        }
      }
      const isSearch = name === 'findCycle' && !isSearched
      if (isSearch) isSearched = true
      if ((isSearch || name === 'readRequest') && unreadable())
        throw new StoreError('failed', 'fails on purpose')
      const member: unknown = Reflect.get(target, name, target)
      return typeof member === 'function' ? (member.bind(target) as unknown) : member
    },
  })
}

test('after a failed write that was stored the pool contains the cycle, and the repeated call is a replay', async () => {
  service = await CycleService.open(parts({ store: lateStore() }))
  expect(await refusal(submit(first()))).toMatchObject({ status: 503 })
  expect(service.pendingCount).toBe(1)
  expect((JSON.parse(await submit(first())) as CycleResponse).counts.scored_now).toBe(1)
})

test('while the pool cannot be loaded after such a write, no cycle is scored; afterwards the service continues', async () => {
  let unreadable = false
  service = await CycleService.open(parts({ store: lateStore(() => unreadable) }))
  unreadable = true
  expect(await refusal(submit(first()))).toMatchObject({ status: 503 })
  expect(service.pendingCount).toBe(0)
  expect(await refusal(submit(cycleBody(1)))).toMatchObject({
    status: 503,
    message: 'the storage cannot be read',
  })
  expect(contents.cycles.size).toBe(1)
  unreadable = false
  await refusal(submit(cycleBody(1)))
  expect(JSON.parse(await submit(cycleBody(1)))).toMatchObject({ results: [{ gall_id: 'g', post_no: 1 }] })
})

test('the cycle of such a write is the last one, although the pool lacks it until the next one', async () => {
  let unreadable = false
  service = await CycleService.open(parts({ store: lateStore(() => unreadable) }))
  await refusal(submit(first()))
  expect(service.lastCycle()?.cycleId).toBe(first().cycle_id)
  unreadable = true
  await refusal(submit(cycleBody(1)))
  expect(service.pool.position).toBe(1)
  expect(service.lastCycle()?.cycleId).toBe(cycleBody(1).cycle_id)
})

test('when the last cycle is no longer in the store, no cycle is scored; the service continues once it is back', async () => {
  const store = createMemoryStore()
  service = await CycleService.open(parts({ store }))
  await submit(first())
  const hasCycle = store.hasCycle.bind(store)
  store.hasCycle = () => false
  expect(await refusal(submit(cycleBody(1)))).toMatchObject({
    status: 503,
    message: 'storage refuses writes',
  })
  store.hasCycle = hasCycle
  expect(JSON.parse(await submit(cycleBody(1)))).toMatchObject({ results: [{ gall_id: 'g', post_no: 1 }] })
})

describe('the limit of pending posts', () => {
  const posts = (...numbers: number[]) => numbers.map((n) => candidate('g', n))
  const limited = async (pendingPostsMax: number): Promise<void> => {
    service = await CycleService.open(
      parts({ limits: () => ({ clockSkewMs: 2000, cyclesWaitingMax: 4, pendingPostsMax }) }),
    )
  }

  test('is reached without a refusal, and a cycle beyond it is 422 at candidates and changes nothing', async () => {
    await limited(3)
    expect((await responseTo(cycleBody(0, { candidates: posts(1, 2, 3) }))).results).toHaveLength(3)
    const state = service.pool
    const more = cycleBody(1, { candidates: posts(4, 5), removals: [removal('g', 1)] })
    expect(await refusal(submit(more))).toEqual({
      status: 422,
      message: expect.stringContaining('too many posts would be pending') as string,
      paths: ['candidates'],
    })
    const problem = expect.stringContaining('3 are pending, 2 would enter and 1 would leave') as string
    await expect(submit(more)).rejects.toMatchObject({ fields: [{ problem }] })
    expect(service.pool).toBe(state)
    expect(service.lastCycle()?.cycleId).toBe(cycleBody(0).cycle_id)
    // The id is free: the client sends the missing removals with it.
    const corrected = { ...more, removals: [removal('g', 1), removal('g', 2)] }
    expect((await responseTo(corrected)).results.map((row) => row.post_no)).toEqual([3, 4, 5])
  })

  test('counts what stays after the cycle: a candidate sent again, or added and removed, does not count', async () => {
    await limited(2)
    await submit(cycleBody(0, { candidates: posts(1, 2) }))
    const cycle = cycleBody(1, { candidates: posts(1, 2, 3), removals: [removal('g', 3)] })
    expect((await responseTo(cycle)).results).toHaveLength(2)
  })

  test('does not block a pool that is over it: cycles that do not make it larger are accepted', async () => {
    await submit(cycleBody(0, { candidates: posts(1, 2, 3, 4) }))
    await limited(2)
    expect((await refusal(submit(cycleBody(1, { candidates: posts(5) })))).status).toBe(422)
    const same = cycleBody(1, { engagement: [reading('g', 1, cycleMs(1))] })
    expect((await responseTo(same)).results).toHaveLength(4)
    const swap = cycleBody(2, { candidates: posts(5), removals: [removal('g', 1)] })
    expect((await responseTo(swap)).results).toHaveLength(4)
    const fewer = cycleBody(3, { removals: [2, 3, 4].map((n) => removal('g', n)) })
    expect((await responseTo(fewer)).results).toHaveLength(1)
  })

  test('holds more posts than one body can bring, unless it is set lower', () => {
    const none = { title: '', created_at: null, extracted_at: null }
    const shortest = JSON.stringify({ ...candidate('g', 1, none), source: 'vote' })
    expect(jsonBodyBytesMax / shortest.length).toBeLessThan(pendingPostsMax)
  })
})
