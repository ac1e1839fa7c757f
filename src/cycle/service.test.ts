/** A cycle from bytes to bytes: idempotency, failures that change nothing, restarts. */
import fc from 'fast-check'
import { gzipSync } from 'node:zlib'
import { beforeEach, describe, expect, test } from 'vitest'
import {
  bytesOf,
  candidate,
  cycleBody,
  cycleMs,
  reading,
  removal,
  snapshot,
} from '../../test/helpers/bodies.js'
import { cycleSequence } from '../../test/helpers/cycle-arbitraries.js'
import { FakeModel } from '../../test/helpers/fake-model.js'
import { referenceCodec } from '../codec/index.js'
import type { CycleRequest, CycleResponse } from '../contract/index.js'
import {
  createMemoryContents,
  createMemoryStore,
  StoreError,
  type CycleRecord,
  type MemoryContents,
  type Store,
} from '../store/index.js'
import { CycleService, type CycleServiceParts } from './service.js'
import { StageClock, type StageName } from './stage-clock.js'

const nowMs = cycleMs(1000)
const silent = { warn: () => undefined, error: () => undefined }

let contents: MemoryContents
let model: FakeModel
let storeFails: boolean
let service: CycleService

function parts(over: Partial<CycleServiceParts> = {}): CycleServiceParts {
  const beforeWrite = (): void => {
    if (storeFails) throw new StoreError('full', 'told to fail')
  }
  return {
    codec: referenceCodec,
    store: createMemoryStore({ contents, beforeWrite }),
    model: () => model,
    clock: () => nowMs,
    limits: () => ({ clockSkewMs: 2000, cyclesWaitingMax: 4 }),
    textEncodeMsMax: 1000,
    initialWeights: { version: 'initial', weights: { views: 1, comments: 1, up: 1, downvote_share: 0 } },
    log: silent,
    ...over,
  }
}

beforeEach(async () => {
  contents = createMemoryContents()
  model = new FakeModel()
  storeFails = false
  service = await CycleService.open(parts())
})

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString()

const submitBytes = async (json: Uint8Array, gzip: Uint8Array | null = null, at = nowMs): Promise<string> =>
  text(await service.submit({ json, gzip }, at, new StageClock(0)))

const submit = (body: CycleRequest, at = nowMs): Promise<string> => submitBytes(bytesOf(body), null, at)

const answer = async (body: CycleRequest): Promise<CycleResponse> =>
  JSON.parse(await submit(body)) as CycleResponse

const refusal = async (
  promise: Promise<unknown>,
): Promise<{ status: number; message: string; paths: string[] }> => {
  try {
    await promise
  } catch (error) {
    const { status, message, fields } = error as {
      status: number
      message: string
      fields?: { path: string }[]
    }
    return { status, message, paths: fields?.map((field) => field.path) ?? [] }
  }
  throw new Error('was not refused')
}

const first = (): CycleRequest =>
  cycleBody(0, { candidates: [candidate('g', 1)], engagement: [reading('g', 1, cycleMs(0))] })

/** Notes the stages of a cycle as they end, and calls that come with the end of each and are served in a turn after it. */
class StagesAndCalls extends StageClock {
  readonly order: string[] = []

  override lap(stage: StageName): void {
    super.lap(stage)
    this.order.push(stage)
    setImmediate(() => this.order.push('call'))
  }
}

describe('a cycle', () => {
  test('of a mebibyte lets others have their turn before it is planned, and before it is packed', async () => {
    const candidates = Array.from({ length: 12 }, (_, index) =>
      candidate('g', index + 1, { body_html: 'x'.repeat(100_000) }),
    )
    const engagement = candidates.map(({ post_no }) => reading('g', post_no, cycleMs(0)))
    const stages = new StagesAndCalls(0)
    await service.submit(
      { json: bytesOf(cycleBody(0, { candidates, engagement })), gzip: null },
      nowMs,
      stages,
    )
    expect(stages.order.join(' ')).toMatch(/^decode call wait plan (call )+infer /)
  })

  test('is answered with its results, counts and labels', async () => {
    const body = cycleBody(0, {
      candidates: [candidate('g', 1), candidate('g', 2, { title: '' }), candidate('g', 3)],
      engagement: [
        reading('x', 9, cycleMs(0)),
        reading('g', 1, cycleMs(0), { views: 50 }),
        reading('g', 2, cycleMs(0)),
      ],
    })
    expect(await answer(body)).toEqual({
      cycle_id: body.cycle_id,
      cycle_time: body.cycle_time,
      received_at: new Date(nowMs).toISOString(),
      scored_at: new Date(nowMs).toISOString(),
      model_version: 'fake-1',
      weights_version: 'initial',
      counts: {
        candidates: 3,
        engagement: 3,
        candidate_scores: 0,
        removals: 0,
        scored_now: 1,
        waiting: 1,
        not_scored: 2,
        results: 4,
      },
      missing_feature_share: 0,
      warnings: [],
      results: [
        {
          gall_id: 'g',
          post_no: 1,
          status: 'scored',
          score: 1,
          p_views: 0.5,
          p_comments: 0.5,
          scored_at_cycle: body.cycle_time,
        },
        { gall_id: 'g', post_no: 2, status: 'not_scored', score: null, reason: 'missing_title' },
        { gall_id: 'g', post_no: 3, status: 'waiting', score: null },
        { gall_id: 'x', post_no: 9, status: 'not_scored', score: null, reason: 'unknown_post' },
      ],
    })
  })

  test('that a transport test scored says so, and one that a trained model scored does not', async () => {
    const lines = (response: unknown): string[] => (response as { warnings: string[] }).warnings
    expect(lines(await answer(cycleBody(1)))).toEqual([])
    model.kind = 'transport-test'
    expect(lines(await answer(cycleBody(2)))).toEqual([
      'transport test: fake-1 is no trained model, its scores mean nothing',
    ])
  })

  test('of the same gallery known and unknown names each post rightly', async () => {
    await submit(cycleBody(0, { candidates: [candidate('b', 1), candidate('a', 1)] }))
    const { results } = await answer(
      cycleBody(1, {
        engagement: [reading('z', 5, cycleMs(1)), reading('a', 1, cycleMs(1)), reading('b', 7, cycleMs(1))],
      }),
    )
    expect(results.map((row) => `${row.gall_id}/${row.post_no} ${row.status}`)).toEqual([
      'b/1 waiting',
      'a/1 scored',
      'z/5 not_scored',
      'b/7 not_scored',
    ])
  })

  test('with wrong times is refused with 422 in document order', async () => {
    const late = cycleMs(1)
    const body = cycleBody(0, {
      engagement: [reading('g', 1, cycleMs(0)), reading('g', 1, late)],
      candidate_scores: [snapshot('g', 1, late)],
    })
    const turned = Object.fromEntries(Object.entries({ ...body, cycle_id: '20240301T0005' }).reverse())
    expect(await refusal(submitBytes(bytesOf(turned)))).toMatchObject({
      status: 422,
      paths: ['candidate_scores[0].snapshot_at', 'engagement[1].observed_at', 'cycle_id'],
    })
  })

  test('in the future is refused beyond the tolerated skew only', async () => {
    const body = cycleBody(0)
    expect(await refusal(submit(body, cycleMs(0) - 2001))).toMatchObject({
      status: 422,
      paths: ['cycle_time'],
    })
    await submit(body, cycleMs(0) - 2000)
  })
})

describe('a cycle sent again', () => {
  test('gets the stored bytes, however it is spelled, zipped, or later', async () => {
    const response = await submit(first())
    await submit(cycleBody(1, { removals: [removal('g', 1)] }))
    const turned = Object.fromEntries(Object.entries(first()).reverse())
    expect(await submitBytes(Buffer.from(JSON.stringify(turned, null, 2)))).toBe(response)
    expect(await submitBytes(bytesOf(first()), gzipSync(bytesOf(first())), nowMs + 1000)).toBe(response)
    expect(text(service.response(first().cycle_id))).toBe(response)
    expect(service.pendingCount).toBe(0)
  })

  test('with another body is refused with 409 and changes nothing', async () => {
    const response = await submit(first())
    expect(await refusal(submit({ ...first(), engagement: [] }))).toMatchObject({ status: 409 })
    expect(text(service.response(first().cycle_id))).toBe(response)
  })

  test('at the same time is processed once: equal bodies get the same bytes, others 409', async () => {
    const same = await Promise.all(Array.from({ length: 8 }, () => submit(first())))
    expect(new Set(same).size).toBe(1)
    expect(model.seen).toHaveLength(1)
    const other = (views: number): CycleRequest =>
      cycleBody(1, { engagement: [reading('g', 1, cycleMs(1), { views })] })
    const settled = await Promise.allSettled([1, 2, 3].map((views) => submit(other(views))))
    expect(settled.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'rejected'])
  })

  test('is answered while no model is loaded and while the queue is full', async () => {
    const response = await submit(first())
    const { store } = parts()
    const without = await CycleService.open(
      parts({ store, model: () => null, limits: () => ({ clockSkewMs: 2000, cyclesWaitingMax: 0 }) }),
    )
    expect(text(await without.submit({ json: bytesOf(first()), gzip: null }, nowMs, new StageClock(0)))).toBe(
      response,
    )
    expect(
      await refusal(without.submit({ json: bytesOf(cycleBody(1)), gzip: null }, nowMs, new StageClock(0))),
    ).toMatchObject({
      status: 503,
    })
  })
})

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
      expect(await refusal(Promise.resolve().then(() => service.response(second().cycle_id)))).toMatchObject({
        status: 404,
      })
      setFailing(false)
      const { results } = await answer(second())
      expect(results.map((row) => [row.post_no, row.status])).toEqual([[2, 'scored']])
      expect(service.ready).toBe(true)
    },
  )

  test('of storage shows in health until a write succeeds', async () => {
    storeFails = true
    await refusal(submit(first()))
    expect(service.ready).toBe(false)
    storeFails = false
    await submit(first())
    expect(service.ready).toBe(true)
  })

  test('of a model in one row is told with its version, the cycle and the post', async () => {
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

  test('of a model in one row is told in a bounded line, whatever the post is called', async () => {
    model.wrongRow = 0
    const gallId = `\u001b[31m${'x'.repeat(100_000)}`
    const one = cycleBody(0, {
      candidates: [candidate(gallId, 7)],
      engagement: [reading(gallId, 7, cycleMs(0))],
    })
    const message = expect.stringMatching(/, post \?\[31mx{75}…\/7: head p_up: row$/) as string
    await expect(submit(one)).rejects.toMatchObject({ cause: { message } })
  })

  test('of a model in one row shows in health until it answers, or another one serves', async () => {
    model.wrongRow = 0
    await refusal(submit(first()))
    expect(service.ready).toBe(false)
    // It is not asked about a cycle without rows.
    await submit(cycleBody(-1, {}))
    expect(service.ready).toBe(false)
    model.wrongRow = null
    await submit(first())
    expect(service.ready).toBe(true)
    model.wrongRow = 0
    await refusal(submit(second()))
    expect(service.ready).toBe(false)
    model = new FakeModel()
    expect(service.ready).toBe(true)
  })

  test('of the leader is told to those who wait for it', async () => {
    model.failing = true
    const calls = await Promise.allSettled([1, 2, 3].map(() => submit(first())))
    expect(calls.map((call) => call.status)).toEqual(['rejected', 'rejected', 'rejected'])
  })
})

/** A store whose writes reach the disk and then reject, and whose pool cannot be read while `unreadable()`. */
function lateStore(unreadable = (): boolean => false): Store {
  const { store } = parts()
  return new Proxy(store, {
    get(target, name) {
      if (name === 'appendCycle') {
        return async (record: CycleRecord): Promise<never> => {
          await target.appendCycle(record)
          throw new StoreError('failed', 'the answer of the disk was lost')
        }
      }
      if (name === 'readPool' && unreadable()) throw new StoreError('failed', 'told to fail')
      const member: unknown = Reflect.get(target, name, target)
      return typeof member === 'function' ? (member.bind(target) as unknown) : member
    },
  })
}

test('a write that fails late has its say: the pool is read again, and the call that is repeated is a replay', async () => {
  service = await CycleService.open(parts({ store: lateStore() }))
  expect(await refusal(submit(first()))).toMatchObject({ status: 503 })
  expect(service.pendingCount).toBe(1)
  expect((JSON.parse(await submit(first())) as CycleResponse).counts.scored_now).toBe(1)
})

test('where it cannot be read then, no cycle is scored without what it holds; it goes on when it can be', async () => {
  let unreadable = false
  service = await CycleService.open(parts({ store: lateStore(() => unreadable) }))
  unreadable = true
  expect(await refusal(submit(first()))).toMatchObject({ status: 503 })
  expect(service.pendingCount).toBe(0)
  expect(await refusal(submit(cycleBody(1)))).toMatchObject({
    status: 503,
    message: 'the storage cannot be read',
  })
  expect(contents.cycles).toHaveLength(1)
  unreadable = false
  await refusal(submit(cycleBody(1)))
  expect(JSON.parse(await submit(cycleBody(1)))).toMatchObject({ results: [{ gall_id: 'g', post_no: 1 }] })
})

describe('the queue', () => {
  test('of weights is bounded by itself and keeps no cycle out', async () => {
    const weights = { views: 1, comments: 0, up: 0, downvote_share: 0 }
    const calls = Array.from({ length: 200 }, (_, i) =>
      service.setWeights({ version: `v${i}`, weights, note: '' }),
    )
    const cycle = submit(first())
    const settled = await Promise.allSettled(calls)
    expect(settled.filter((result) => result.status === 'rejected').length).toBe(200 - 129)
    expect(await cycle).toContain('"scored_now":1')
  })

  test('of weights has no one in it who asks for what stands already', async () => {
    const weights = { views: 1, comments: 0, up: 0, downvote_share: 0 }
    const set = () => service.setWeights({ version: 'v', weights, note: '' })
    const first = await set()
    const again = await Promise.all(Array.from({ length: 500 }, set))
    expect(new Set(again)).toEqual(new Set([first]))
  })

  test('of weights ends with those that were asked for last, also where they stood before', async () => {
    const weights = { views: 1, comments: 0, up: 0, downvote_share: 0 }
    const set = (version: string) => service.setWeights({ version, weights, note: '' })
    await set('before')
    await Promise.all([set('another'), set('before')])
    expect(service.weights.state().current.version).toBe('before')
  })

  test('takes one cycle and four that wait; the next gets 503 with Retry-After', async () => {
    let open = (): void => undefined
    model.gate = new Promise<void>((resolve) => (open = resolve))
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

  test('that is full still repeats what is stored, and lets calls of a cycle under way wait for it', async () => {
    // Large enough to need a place before they are decoded.
    const large = (json: CycleRequest, indent = 0): Buffer =>
      Buffer.from(JSON.stringify(json, null, indent) + ' '.repeat(70_000))
    const response = await submitBytes(large(first()))
    let open = (): void => undefined
    model.gate = new Promise<void>((resolve) => (open = resolve))
    const body = (i: number): CycleRequest =>
      cycleBody(i, { candidates: [candidate('g', i + 1)], engagement: [reading('g', i + 1, cycleMs(i))] })
    const calls = [1, 2, 3, 4, 5].map((i) => submitBytes(large(body(i))))
    expect(await submitBytes(large(first()))).toBe(response)
    const again = [submitBytes(large(body(1))), submitBytes(large(body(5)))]
    expect(await submitBytes(large(first(), 1))).toBe(response)
    expect(await submit(first())).toBe(response)
    const start = (json: CycleRequest): Uint8Array => bytesOf(json).subarray(0, 40)
    for (const known of [first(), body(5)]) expect(() => service.admit(start(known), 1e6)).not.toThrow()
    expect(() => service.admit(start(body(6)), 1e6)).toThrow('too many cycles are queued')
    // What is compressed tells later which cycle it is.
    expect(() => service.admit(new Uint8Array(), 1e6)).not.toThrow()
    expect(await refusal(submitBytes(large(body(6))))).toMatchObject({ status: 503 })
    // What is small is told what is wrong with it, however long the line is.
    expect(() => service.admit(start(body(6)), 1000)).not.toThrow()
    expect(await refusal(submitBytes(Buffer.from('{}')))).toMatchObject({ status: 400 })
    open()
    const answers = await Promise.all(calls)
    expect(await Promise.all(again)).toEqual([answers[0], answers[4]])
    expect(() => service.admit(start(body(6)), 1e6)).not.toThrow()
  })

  test('has one place for equal bodies, wherever their id stands, and none for what is stored', async () => {
    let open = (): void => undefined
    model.gate = new Promise<void>((resolve) => (open = resolve))
    const hidden = (i: number): Buffer => {
      const lists = { candidates: [candidate('g', i + 1)], engagement: [reading('g', i + 1, cycleMs(i))] }
      return Buffer.from(`{"x":"${'x'.repeat(70_000)}",${JSON.stringify(cycleBody(i, lists)).slice(1)}`)
    }
    const equal = Array.from({ length: 12 }, () => submitBytes(hidden(0)))
    const others = [1, 2, 3, 4].map((i) => submitBytes(hidden(i)))
    expect(await refusal(submitBytes(hidden(5)))).toMatchObject({ status: 503 })
    open()
    expect(new Set(await Promise.all(equal)).size).toBe(1)
    await Promise.all(others)
    model.gate = new Promise<void>((resolve) => (open = resolve))
    const waiting = [5, 6, 7, 8, 9].map((i) => submitBytes(hidden(i)))
    const respelled = (i: number): Buffer =>
      Buffer.from(JSON.stringify(JSON.parse(hidden(i).toString()), null, 1))
    expect(await submitBytes(respelled(0))).toBe(await equal[0])
    open()
    await Promise.all(waiting)
  })

  test('is as long as it may be, whatever ids bodies state before the ones that they mean', async () => {
    let open = (): void => undefined
    model.gate = new Promise<void>((resolve) => (open = resolve))
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

  test('is emptied with 503 when the service ends, but what has begun is finished', async () => {
    let open = (): void => undefined
    model.gate = new Promise<void>((resolve) => (open = resolve))
    const begun = submit(first())
    const waiting = submit(cycleBody(1))
    // Bodies are decoded one a turn; then the first one is under way.
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve))
    const closed = service.close()
    const refused = expect(waiting).rejects.toMatchObject({ status: 503 })
    open()
    await refused
    await closed
    expect(await begun).toContain('"scored_now":1')
  })
})

test('weights set while a cycle is at work wait for it', async () => {
  let open = (): void => undefined
  model.gate = new Promise<void>((resolve) => (open = resolve))
  const cycle = submit(first())
  const weights = { views: 2, comments: 0, up: 0, downvote_share: 0 }
  const setting = service.setWeights({ version: 'v2', weights, note: '' })
  open()
  expect(JSON.parse(await cycle)).toMatchObject({ weights_version: 'initial' })
  expect((await setting).version).toBe('v2')
  expect(service.weights.state()).toMatchObject({
    current: { version: 'v2' },
    previous: { version: 'initial' },
  })
})

test('images of a post are counted for the model, whether they came before or after it, and after a restart', async () => {
  const { store } = parts()
  const put = async (position: number): Promise<void> => {
    const key = { gallId: 'g', postNo: 1, position }
    const sha256 = new Uint8Array(32).fill(position)
    await store.putImage(key, { sha256, uploadedBytes: 1, width: 1, height: 1, normalised: sha256 })
    service.images.add(key)
  }
  await put(1)
  service = await CycleService.open(parts({ store }))
  await submit(first())
  await service.images.load()
  await put(3)
  await submit(cycleBody(1, { engagement: [reading('g', 1, cycleMs(1))] }))
  expect(model.seen.map((inputs) => [...inputs.imagesStored])).toEqual([[1], [2]])
})

test('a service opened on the same store goes on exactly as the one before', async () => {
  await fc.assert(
    fc.asyncProperty(cycleSequence, fc.nat(7), async (cycles, restartAt) => {
      const run = async (restart: boolean): Promise<string[]> => {
        contents = createMemoryContents()
        model = new FakeModel()
        service = await CycleService.open(parts())
        const answers: string[] = []
        for (const [i, cycle] of cycles.entries()) {
          if (restart && i === restartAt % cycles.length) service = await CycleService.open(parts())
          answers.push(await submit(cycle))
          answers.push(
            JSON.stringify(model.seen.at(-1), (name, value: unknown) =>
              // Codes of galleries are names of the moment.
              name === 'gallery' ? undefined : value,
            ),
          )
        }
        return answers
      }
      expect(await run(true)).toEqual(await run(false))
    }),
    { numRuns: 300 },
  )
})
