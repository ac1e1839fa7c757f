/** Cycles through the whole service: responses, repeats, failures, weights and restarts. */
import { hash } from 'node:crypto'
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
import { callsOf, nowMs, refusal, serviceParts } from '../../test/helpers/cycle-service.js'
import { FakeModel } from '../../test/helpers/fake-model.js'
import { createMemoryContents, memoryStore, type MemoryContents } from '../../test/helpers/memory-store.js'
import '../../test/helpers/poisoned-memory.js'
import type { CycleRequest, StageName } from '../contract/index.js'
import type { PoolState } from '../pool/index.js'
import { StoreError } from '../store/index.js'
import { CycleService, type CycleServiceParts } from './service.js'
import { StageClock } from './stage-clock.js'
import { RequestBody } from './intake/index.js'

let contents: MemoryContents
let model: FakeModel
let storeFails: boolean
let service: CycleService

function parts(over: Partial<CycleServiceParts> = {}): CycleServiceParts {
  const beforeWrite = (): void => {
    if (storeFails) throw new StoreError('full', 'fails on purpose')
  }
  return serviceParts({ store: memoryStore({ contents, beforeWrite }), model: () => model, ...over })
}

beforeEach(async () => {
  contents = createMemoryContents()
  model = new FakeModel()
  storeFails = false
  service = await CycleService.open(parts())
})

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString()

const { submit, submitBytes, responseTo } = callsOf(() => service)

const first = (): CycleRequest =>
  cycleBody(0, { candidates: [candidate('g', 1)], engagement: [reading('g', 1, cycleMs(0))] })

/** Records each stage as it ends, and a call that arrives at that moment and is served in a later turn of the event loop. */
class StagesAndCalls extends StageClock {
  readonly order: string[] = []

  override lap(stage: StageName): void {
    super.lap(stage)
    this.order.push(stage)
    setImmediate(() => this.order.push('call'))
  }
}

describe('a cycle', () => {
  test('of 1 MiB yields to other requests before it is planned and before it is packed', async () => {
    const candidates = Array.from({ length: 12 }, (_, index) =>
      candidate('g', index + 1, { body_html: 'x'.repeat(100_000) }),
    )
    const engagement = candidates.map(({ post_no }) => reading('g', post_no, cycleMs(0)))
    const stages = new StagesAndCalls(0)
    await service.intake.submit(
      new RequestBody(bytesOf(cycleBody(0, { candidates, engagement }))),
      nowMs,
      stages,
    )
    expect(stages.order.join(' ')).toMatch(/^decode call wait plan features (call )+infer /)
  })

  test('is stored with its hashes, and its body is not read afterwards', async () => {
    const { store } = parts()
    const hashing = await CycleService.open(parts({ store }))
    const json = bytesOf(cycleBody(0))
    const response = await hashing.intake.submit(new RequestBody(json), nowMs, new StageClock(0))
    json.fill(0)
    const request = store.readRequest(1)
    expect(store.hashes(1)).toMatchObject({
      requestSha256: hash('sha256', request!.bytes),
      responseSha256: hash('sha256', response),
    })
  })

  test('has its response in memory for those who read the newest scores', async () => {
    const cycle = cycleBody(0)
    const response = await service.intake.submit(new RequestBody(bytesOf(cycle)), nowMs, new StageClock(0))
    expect(service.intake.responseInMemory(cycle.cycle_id)).toBe(response)
  })

  test('gets a response with its results, counts and labels', async () => {
    const body = cycleBody(0, {
      candidates: [candidate('g', 1), candidate('g', 2, { title: '' }), candidate('g', 3)],
      engagement: [
        reading('x', 9, cycleMs(0)),
        reading('g', 1, cycleMs(0), { views: 50 }),
        reading('g', 2, cycleMs(0)),
      ],
    })
    // It arrived before it was scored.
    expect(JSON.parse(await submit(body, nowMs - 700))).toEqual({
      cycle_id: body.cycle_id,
      cycle_time: body.cycle_time,
      received_at: new Date(nowMs - 700).toISOString(),
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

  test('scored by a transport-test model has a warning, and one scored by a trained model has none', async () => {
    const lines = (response: unknown): string[] => (response as { warnings: string[] }).warnings
    expect(lines(await responseTo(cycleBody(1)))).toEqual([])
    model.kind = 'transport-test'
    expect(lines(await responseTo(cycleBody(2)))).toEqual([
      'transport test: fake-1 is not a trained model; its scores have no meaning',
    ])
  })

  test('with known and unknown posts of one gallery names each post correctly', async () => {
    await submit(cycleBody(0, { candidates: [candidate('b', 1), candidate('a', 1)] }))
    const { results } = await responseTo(
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

  test('with invalid times is refused with 422, with the fields in document order', async () => {
    const late = cycleMs(1)
    const body = cycleBody(0, {
      engagement: [reading('g', 1, cycleMs(0)), reading('g', 1, late)],
      candidate_scores: [snapshot('g', 1, late)],
    })
    const reordered = Object.fromEntries(Object.entries({ ...body, cycle_id: '20240301T0005' }).reverse())
    expect(await refusal(submitBytes(bytesOf(reordered)))).toMatchObject({
      status: 422,
      paths: ['candidate_scores[0].snapshot_at', 'engagement[1].observed_at', 'cycle_id'],
    })
  })

  test('must have the id of its time, and a time on a five-minute boundary', async () => {
    for (const [change, path] of [
      [{ cycle_id: '20240229T2355' }, 'cycle_id'],
      [{ cycle_id: '20240301T0005' }, 'cycle_id'],
      [{ cycle_id: '20240301T0001', cycle_time: '2024-03-01T00:01:00+09:00' }, 'cycle_time'],
      [{ cycle_time: '2024-03-01T00:00:00.0001+09:00' }, 'cycle_time'],
    ] as const)
      expect(await refusal(submit({ ...cycleBody(0), ...change }))).toMatchObject({
        status: 422,
        paths: [path],
      })
  })

  test('in the future is refused only beyond the tolerated clock skew', async () => {
    const body = cycleBody(0)
    expect(await refusal(submit(body, cycleMs(0) - 2001))).toMatchObject({
      status: 422,
      paths: ['cycle_time'],
    })
    await submit(body, cycleMs(0) - 2000)
  })
})

describe('a cycle sent again', () => {
  test('gets the stored bytes with any formatting or compression, and at any later time', async () => {
    const response = await submit(first())
    await submit(cycleBody(1, { removals: [removal('g', 1)] }))
    const reordered = Object.fromEntries(Object.entries(first()).reverse())
    expect(await submitBytes(Buffer.from(JSON.stringify(reordered, null, 2)))).toBe(response)
    expect(await submitBytes(bytesOf(first()), gzipSync(bytesOf(first())), nowMs + 1000)).toBe(response)
    expect(text(service.intake.response(first().cycle_id))).toBe(response)
    expect(service.pendingCount).toBe(0)
  })

  test('with another body is refused with 409 and changes nothing', async () => {
    const response = await submit(first())
    expect(await refusal(submit({ ...first(), engagement: [] }))).toMatchObject({ status: 409 })
    expect(text(service.intake.response(first().cycle_id))).toBe(response)
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

  test('gets its response while no model is loaded and while the queue is full', async () => {
    const response = await submit(first())
    const { store } = parts()
    const without = await CycleService.open(
      parts({ store, model: () => null, limits: () => ({ clockSkewMs: 2000, cyclesWaitingMax: 0 }) }),
    )
    expect(
      text(await without.intake.submit(new RequestBody(bytesOf(first())), nowMs, new StageClock(0))),
    ).toBe(response)
    expect(
      await refusal(without.intake.submit(new RequestBody(bytesOf(cycleBody(1))), nowMs, new StageClock(0))),
    ).toMatchObject({
      status: 503,
    })
  })
})

describe('the queue', () => {
  test('of weights is not entered by requests for the current weights', async () => {
    const weights = { views: 1, comments: 0, up: 0, downvote_share: 0 }
    const set = () => service.setWeights({ version: 'v', weights, note: '' })
    const first = await set()
    const again = await Promise.all(Array.from({ length: 500 }, set))
    expect(new Set(again)).toEqual(new Set([first]))
  })

  test('of weights ends with the weights that were requested last, even if they were current before', async () => {
    const weights = { views: 1, comments: 0, up: 0, downvote_share: 0 }
    const set = (version: string) => service.setWeights({ version, weights, note: '' })
    await set('before')
    await Promise.all([set('another'), set('before')])
    expect(service.weights.state().current.version).toBe('before')
  })
})

test('a version with other weights is a conflict that names each weight that differs', async () => {
  const set = (views: number) =>
    service.setWeights({ version: 'v', weights: { views, comments: 0, up: 1, downvote_share: 0 }, note: '' })
  await set(0.5)
  await expect(set(0.25)).rejects.toMatchObject({
    kind: 'conflict',
    fields: [{ path: 'weights.views', problem: 'was 0.5, is 0.25' }],
  })
})

test('weights that are set during a cycle wait for its end', async () => {
  let open = (): void => undefined
  model.blockedBy = new Promise<void>((resolve) => (open = resolve))
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

test('images of a post are counted for the model, uploaded before or after it, and after a restart', async () => {
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

test('a service that is opened on the same store continues exactly like the previous one', async () => {
  await fc.assert(
    fc.asyncProperty(cycleSequence, fc.nat(7), async (cycles, restartAt) => {
      const run = async (restart: boolean): Promise<string[]> => {
        contents = createMemoryContents()
        model = new FakeModel()
        service = await CycleService.open(parts())
        const responses: string[] = []
        for (const [i, cycle] of cycles.entries()) {
          if (restart && i === restartAt % cycles.length) service = await CycleService.open(parts())
          responses.push(await submit(cycle))
          responses.push(
            JSON.stringify(model.seen.at(-1), (name, value: unknown) =>
              // Gallery codes may differ after a restart.
              name === 'gallery' ? undefined : value,
            ),
          )
        }
        return responses
      }
      expect(await run(true)).toEqual(await run(false))
    }),
    { numRuns: 300 },
  )
})

test('a state of the pool keeps its columns, whatever cycles follow and whatever becomes of their bodies', async () => {
  service = await CycleService.open(parts())
  const columnsOf = ({ galleries, gallery, postNo, posts, latest, previous, snapshot }: PoolState) =>
    structuredClone({ ids: [...galleries], gallery, postNo, posts, latest, previous, snapshot })
  const kept: { state: PoolState; columns: object }[] = []
  for (let index = 0; index < 12; index++) {
    const pending = Array.from({ length: 40 }, (_, n) => 5 * index + n)
    const [entering, leaving] = [
      index === 0 ? pending : pending.slice(-5),
      index === 0 ? [] : [0, 1, 2, 3, 4],
    ]
    const body = bytesOf(
      cycleBody(index, {
        candidates: entering.map((n) => candidate(`g${n % 7}`, n + 1)),
        removals: leaving.map((n) => removal(`g${(5 * index - 5 + n) % 7}`, 5 * index - 5 + n + 1)),
        engagement: pending.map((n) =>
          reading(`g${n % 7}`, n + 1, cycleMs(index), { views: index * 100 + n }),
        ),
      }),
    )
    await submitBytes(body)
    body.fill(0xff)
    kept.push({ state: service.pool, columns: columnsOf(service.pool) })
  }
  for (const { state, columns } of kept) expect(columnsOf(state)).toEqual(columns)
})

test('a disk without room is a failure, as in readiness, also before a write has failed', async () => {
  const reason = { code: 'disk_free', free_mib: 100 } as const
  let diskProblem: typeof reason | null = null
  service = await CycleService.open(parts({ diskProblem: () => diskProblem }))
  expect(service.problems()).toEqual([])
  diskProblem = reason
  expect(service.problems()).toEqual([{ check: 'disk', severity: 'fail', reason }])
})
