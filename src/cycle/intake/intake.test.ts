/** Which cycles the intake admits while others are in progress, and its responses when the queue is full. */
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { bytesOf, candidate, cycleBody, cycleMs, reading } from '../../../test/helpers/bodies.js'
import { callsOf, nowMs, serviceParts } from '../../../test/helpers/cycle-service.js'
import { FakeModel } from '../../../test/helpers/fake-model.js'
import '../../../test/helpers/poisoned-memory.js'
import { ServiceError, type CycleRequest } from '../../contract/index.js'
import { createMemoryStore } from '../../store/index.js'
import { CycleService } from '../service.js'
import { StageClock } from '../stage-clock.js'
import { Intake } from './intake.js'
import { RequestBody } from './request-body.js'

let model: FakeModel
let service: CycleService

beforeEach(async () => {
  model = new FakeModel()
  service = await CycleService.open(serviceParts({ model: () => model }))
})

const { submit, submitBytes } = callsOf(() => service)

const first = (): CycleRequest =>
  cycleBody(0, { candidates: [candidate('g', 1)], engagement: [reading('g', 1, cycleMs(0))] })

describe('the queue', () => {
  test('holds one cycle in progress and four that wait; the next gets 503 with Retry-After', async () => {
    let open = (): void => undefined
    model.blockedBy = new Promise<void>((resolve) => (open = resolve))
    const calls = [0, 1, 2, 3, 4, 5].map((i) =>
      submit(
        cycleBody(i, { candidates: [candidate('g', i + 1)], engagement: [reading('g', i + 1, cycleMs(i))] }),
      ),
    )
    await expect(calls[5]).rejects.toMatchObject({ status: 503, retryAfterS: 1 })
    open()
    await Promise.all(calls.slice(0, 5))
    expect(service.pendingCount).toBe(5)
  })

  test('that is full still responds to repeats of stored cycles, and of cycles in progress', async () => {
    // Large enough to be refused before they are decoded.
    const large = (json: CycleRequest, indent = 0): Buffer =>
      Buffer.from(JSON.stringify(json, null, indent) + ' '.repeat(70_000))
    const response = await submitBytes(large(first()))
    let open = (): void => undefined
    model.blockedBy = new Promise<void>((resolve) => (open = resolve))
    const body = (i: number): CycleRequest =>
      cycleBody(i, { candidates: [candidate('g', i + 1)], engagement: [reading('g', i + 1, cycleMs(i))] })
    const calls = [1, 2, 3, 4, 5].map((i) => submitBytes(large(body(i))))
    expect(await submitBytes(large(first()))).toBe(response)
    const again = [submitBytes(large(body(1))), submitBytes(large(body(5)))]
    expect(await submitBytes(large(first(), 1))).toBe(response)
    expect(await submit(first())).toBe(response)
    const start = (json: CycleRequest): Uint8Array => bytesOf(json).subarray(0, 40)
    for (const known of [first(), body(5)])
      expect(() => service.intake.admit(start(known), 1e6)).not.toThrow()
    expect(() => service.intake.admit(start(body(6)), 1e6)).toThrow('too many cycles are queued')
    // A compressed body shows no id.
    expect(() => service.intake.admit(new Uint8Array(), 1e6)).not.toThrow()
    await expect(submitBytes(large(body(6)))).rejects.toMatchObject({ status: 503 })
    // A small body is validated even when the queue is full.
    for (const bytes of [1000, 64 * 1024])
      expect(() => service.intake.admit(start(body(6)), bytes)).not.toThrow()
    expect(() => service.intake.admit(start(body(6)), 64 * 1024 + 1)).toThrow('too many cycles are queued')
    await expect(submitBytes(Buffer.from('{}'))).rejects.toMatchObject({ status: 400 })
    open()
    const replies = await Promise.all(calls)
    expect(await Promise.all(again)).toEqual([replies[0], replies[4]])
    expect(() => service.intake.admit(start(body(6)), 1e6)).not.toThrow()
  })

  test('has one place for equal bodies, wherever their id is, and none for stored cycles', async () => {
    let open = (): void => undefined
    model.blockedBy = new Promise<void>((resolve) => (open = resolve))
    const hidden = (i: number): Buffer => {
      const lists = { candidates: [candidate('g', i + 1)], engagement: [reading('g', i + 1, cycleMs(i))] }
      return Buffer.from(`{"x":"${'x'.repeat(70_000)}",${JSON.stringify(cycleBody(i, lists)).slice(1)}`)
    }
    const equal = Array.from({ length: 12 }, () => submitBytes(hidden(0)))
    const others = [1, 2, 3, 4].map((i) => submitBytes(hidden(i)))
    await expect(submitBytes(hidden(5))).rejects.toMatchObject({ status: 503 })
    open()
    expect(new Set(await Promise.all(equal)).size).toBe(1)
    await Promise.all(others)
    model.blockedBy = new Promise<void>((resolve) => (open = resolve))
    const waiting = [5, 6, 7, 8, 9].map((i) => submitBytes(hidden(i)))
    const respelled = (i: number): Buffer =>
      Buffer.from(JSON.stringify(JSON.parse(hidden(i).toString()), null, 1))
    expect(await submitBytes(respelled(0))).toBe(await equal[0])
    open()
    await Promise.all(waiting)
  })

  test('has the same bound when bodies begin with another id than their own', async () => {
    let open = (): void => undefined
    model.blockedBy = new Promise<void>((resolve) => (open = resolve))
    const calls = Array.from({ length: 9 }, (_, i) => {
      const no = i + 1
      const meant = { candidates: [candidate('g', no)], engagement: [reading('g', no, cycleMs(no))] }
      const text = JSON.stringify(cycleBody(no, meant))
      return submitBytes(Buffer.from(`{"cycle_id":${JSON.stringify(first().cycle_id)},${text.slice(1)}`))
    })
    let refusedCount = 0
    for (const call of calls) call.catch(() => ++refusedCount === 4 && open())
    const outcomes = await Promise.allSettled(calls)
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(5)
  })

  test('is emptied with 503 when the service closes, takes no weights, and the cycle in progress is finished', async () => {
    let open = (): void => undefined
    model.blockedBy = new Promise<void>((resolve) => (open = resolve))
    const begun = submit(first())
    const waiting = submit(cycleBody(1))
    // Bodies are decoded one a turn; then the first one is under way.
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve))
    const closed = service.close()
    const refused = expect(waiting).rejects.toMatchObject({ status: 503 })
    const weights = { views: 1, comments: 0, up: 0, downvote_share: 0 }
    const late = service.setWeights({ version: 'late', weights, note: '' })
    const refusedToo = expect(late).rejects.toMatchObject({ status: 503 })
    open()
    await refused
    await refusedToo
    await closed
    expect(await begun).toContain('"scored_now":1')
  })
})

describe('Retry-After of refused cycles', () => {
  /** Four cycles of 700 ms fill the queue. The fourth time is 3 seconds, or the next one if the clock is inexact. */
  const expected = [3, 3, 3, expect.any(Number), 4, 5]

  /** An intake whose cycles take as long as the test wants. */
  function intakeOf(cyclesWaitingMax: number) {
    const ends: (() => void)[] = []
    const intake = new Intake({
      store: createMemoryStore(),
      limits: () => ({ clockSkewMs: 2000, cyclesWaitingMax }),
      onTimes: () => undefined,
      score: () =>
        new Promise((_, reject) => ends.push(() => reject(new ServiceError({ code: 'model_failed' })))),
    })
    let index = 0
    const begin = (): Promise<ServiceError> =>
      intake
        .submit(new RequestBody(bytesOf(cycleBody(index++))), cycleMs(1000), new StageClock(0))
        .then(() => expect.fail('there is no response'))
        .catch((error: unknown) => error as ServiceError)
    const begun = (count: number): Promise<boolean> => vi.waitUntil(() => ends.length >= count)
    const end = async (call: Promise<ServiceError>): Promise<void> => {
      vi.advanceTimersByTime(700)
      ends.shift()!()
      expect((await call).message).toBe('the model failed')
    }
    const fill = (): Promise<ServiceError>[] => [begin(), begin(), begin(), begin()]
    const refused = async (): Promise<(number | undefined)[]> => {
      const seconds: (number | undefined)[] = []
      for (let call = 0; call < 6; call++) seconds.push((await begin()).retryAfterS)
      return seconds
    }
    return { begin, fill, begun, end, refused }
  }

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
  })

  test('follows how long cycles take, and tells those that are refused together different times', async () => {
    const { begin, fill, begun, end, refused } = intakeOf(3)
    for (let cycle = 0; cycle < 5; cycle++) {
      const call = begin()
      await begun(1)
      await end(call)
    }
    expect(fill()).toHaveLength(4)
    await begun(4)
    expect(await refused()).toEqual(expected)
  })

  test('does not count the time that a cycle waits for the one before it', async () => {
    const { fill, begun, end, refused } = intakeOf(3)
    const calls = fill()
    await begun(4)
    for (const call of calls) await end(call)
    expect(fill()).toHaveLength(4)
    await begun(4)
    expect(await refused()).toEqual(expected)
  })
})

describe('a cycle that is stored', () => {
  const submitAt = async (json: Uint8Array, receivedAtMs: number): Promise<string> =>
    Buffer.from(
      await service.intake.submit(new RequestBody(json), receivedAtMs, new StageClock(0)),
    ).toString()
  const longAgoMs = cycleMs(-1000)

  test('gets its response, or a conflict, whatever the clock says', async () => {
    const response = await submit(first())
    expect(await submitAt(bytesOf(first()), longAgoMs)).toBe(response)
    const respelled = Buffer.from(JSON.stringify(first(), null, 1))
    expect(await submitAt(respelled, longAgoMs)).toBe(response)
    const other = bytesOf({ ...first(), engagement: [] })
    await expect(submitAt(other, longAgoMs)).rejects.toMatchObject({ status: 409 })
  })

  test('is compared with a body whose own times are wrong', async () => {
    await submit(first())
    const other = bytesOf({ ...first(), cycle_time: '2024-03-01T00:05:00+09:00' })
    await expect(submitAt(other, nowMs)).rejects.toMatchObject({
      status: 409,
      fields: [{ path: 'cycle_time' }],
    })
  })

  test('is the only one: an unknown cycle in the future is refused, and nothing is stored', async () => {
    const future = { status: 422, fields: [{ path: 'cycle_time', problem: 'must not be in the future' }] }
    await expect(submitAt(bytesOf(first()), longAgoMs)).rejects.toMatchObject(future)
    expect(service.pendingCount).toBe(0)
    await submit(first())
  })
})
