/** Requests for weights beside cycles, refused writes and clients that leave. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { candidate, cycleBody, cycleMs, reading } from '../../test/helpers/bodies.js'
import { callsOf, serviceParts } from '../../test/helpers/cycle-service.js'
import { FakeModel } from '../../test/helpers/fake-model.js'
import '../../test/helpers/poisoned-memory.js'
import type { CycleResponse, ServiceError } from '../contract/index.js'
import { createMemoryStore, StoreError, type Store } from '../store/index.js'
import { CycleService } from './service.js'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** What waits for `passed` goes on when the test opens the gate. */
function closedGate() {
  let open = (): void => undefined
  const passed = new Promise<void>((resolve) => (open = resolve))
  return { passed, open }
}

/** A service whose writes of weights can be observed, held and refused, and whose cycles can be held. */
async function openService(store: Store = createMemoryStore()) {
  const model = new FakeModel()
  const limits = () => ({ clockSkewMs: 2000, cyclesWaitingMax: 100 })
  const clock = () => cycleMs(0)
  const service = await CycleService.open(serviceParts({ store, model: () => model, limits, clock }))
  const { submit } = callsOf(() => service)
  /** Versions of each write of weights, in order. */
  const writes: string[] = []
  const storage: { fails: 'no' | 'before' | 'after'; isHeldBy?: Promise<void> } = { fails: 'no' }
  const append = store.appendWeights.bind(store)
  store.appendWeights = async (number, entry) => {
    writes.push(entry.version)
    await storage.isHeldBy
    if (storage.fails !== 'before') await append(number, entry)
    if (storage.fails !== 'no') throw new StoreError('full', 'fails on purpose')
  }
  /** Cycles wait for the model from now on, until what this returns is called. */
  const hold = (): (() => void) => {
    const { passed, open } = closedGate()
    model.blockedBy = passed
    return open
  }
  /** Cycle `index`, once it is in the serial queue. */
  const queueCycle = async (index: number) => {
    const before = service.queuedCount
    const post = { candidates: [candidate('g', 1)], engagement: [reading('g', 1, cycleMs(index))] }
    const response = submit(cycleBody(index, post)).then((json) => JSON.parse(json) as CycleResponse)
    const answered = response.then(() => true)
    while (service.queuedCount === before && !(await Promise.race([answered, turn()])));
    return { response }
  }
  const set = (version: string, views = 1, signal?: AbortSignal) =>
    service.setWeights(
      { version, weights: { views, comments: 0, up: 0, downvote_share: 0 }, note: '' },
      signal,
    )
  return { service, store, writes, storage, hold, queueCycle, set }
}

const versions = (store: Store): string[] => [...store.listWeights()].map(({ version }) => version)
/** One turn of the event loop: whatever can start has started. */
const turn = () => new Promise<false>((resolve) => setImmediate(resolve, false))

test('nothing is overtaken: a cycle between two requests sees the first of them', async () => {
  const { writes, hold, queueCycle, set } = await openService()
  const end = hold()
  const before = await queueCycle(0)
  const first = [set('a'), set('b')]
  const between = await queueCycle(1)
  const later = set('c')
  const after = await queueCycle(2)
  end()
  await Promise.all([...first, later])
  expect(writes).toEqual(['a', 'b', 'c'])
  const cycles = await Promise.all([before.response, between.response, after.response])
  expect(cycles.map(({ weights_version }) => weights_version)).toEqual(['initial', 'b', 'c'])
})

test.each(['before', 'after'] as const)(
  'a write that fails %s it is stored is 503 for its request alone, and a retry works',
  async (fails) => {
    const { service, store, storage, set } = await openService()
    await set('old')
    await set('current')
    storage.fails = fails
    await expect(set('old', 9)).rejects.toMatchObject({ kind: 'conflict' })
    await expect(set('zero', 0)).rejects.toMatchObject({ kind: 'unprocessable' })
    expect((await set('current')).version).toBe('current')
    await expect(set('a')).rejects.toMatchObject({ kind: 'unavailable' })
    const stored = ['initial', 'old', 'current', ...(fails === 'after' ? ['a'] : [])]
    expect(versions(store)).toEqual(stored)
    expect(service.weights.state().current.version).toBe(stored.at(-1))
    storage.fails = 'no'
    await Promise.all([set('a'), set('b')])
    expect(versions(store)).toEqual(['initial', 'old', 'current', 'a', 'b'])
    expect(service.weights.state()).toMatchObject({
      current: { version: 'b' },
      previous: { version: 'a' },
    })
  },
)

describe('a client that leaves', () => {
  test.each([0, 1, 2])('while it waits, request %i, leaves the others in the queue', async (index) => {
    const { store, writes, hold, queueCycle, set } = await openService()
    const end = hold()
    const cycle = await queueCycle(0)
    const client = new AbortController()
    const names = ['a', 'b', 'c']
    const calls = names.map((name, number) => set(name, 1, number === index ? client.signal : undefined))
    client.abort(new Error('the client has gone'))
    await expect(calls[index]).rejects.toThrow('the client has gone')
    end()
    await cycle.response
    const rest = names.filter((_, number) => number !== index)
    const others = calls.filter((_, number) => number !== index)
    expect((await Promise.all(others)).map(({ version }) => version)).toEqual(rest)
    expect(writes).toEqual(rest)
    expect(versions(store)).toEqual(['initial', ...rest])
  })

  test('during its write does not change what is stored', async () => {
    const { store, storage, set } = await openService()
    const { passed, open } = closedGate()
    storage.isHeldBy = passed
    const client = new AbortController()
    const call = set('a', 1, client.signal)
    await turn()
    client.abort(new Error('the client has gone'))
    open()
    expect((await call).version).toBe('a')
    await set('b')
    expect(versions(store)).toEqual(['initial', 'a', 'b'])
  })

  test('is forgotten, however many leave while a cycle is in progress', async () => {
    const { service, hold, queueCycle, set } = await openService()
    const end = hold()
    const { response } = await queueCycle(0)
    const last = set('last')
    const leave = async (index: number): Promise<WeakRef<object>> => {
      const client = new AbortController()
      const weights = { views: 1, comments: 0, up: 0, downvote_share: 0 }
      const request = { version: `left-${index}`, weights, note: '' }
      const answer = service.setWeights(request, client.signal)
      client.abort(new Error('the client has gone'))
      await expect(answer).rejects.toThrow('the client has gone')
      return new WeakRef(request)
    }
    const requests = await Promise.all(Array.from({ length: 100 }, (_, index) => leave(index)))
    await turn()
    collectGarbage()
    expect(requests.filter((request) => request.deref() !== undefined)).toEqual([])
    end()
    await Promise.all([response, last])
  })

  test('as the last one leaves nothing to store', async () => {
    const { store, writes, hold, queueCycle, set } = await openService()
    const end = hold()
    const cycle = await queueCycle(0)
    const client = new AbortController()
    const call = set('a', 1, client.signal)
    client.abort(new Error('the client has gone'))
    await expect(call).rejects.toThrow('the client has gone')
    end()
    await cycle.response
    await set('b')
    expect([writes, versions(store)]).toEqual([['b'], ['initial', 'b']])
  })
})

type Step = { readonly version: string; readonly views: number } | 'cycle'
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      version: fc.constantFrom('a', 'b', 'c'),
      views: fc.constantFrom(1, 1, 1, 1, 2, 0),
    }),
  },
  { weight: 1, arbitrary: fc.constant('cycle') },
)

/** What each step is answered, and what is stored then. Each step waits for the one before it, or all wait together. */
async function run(steps: readonly Step[], isTogether: boolean): Promise<unknown> {
  const { service, store, hold, queueCycle, set } = await openService()
  const end = hold()
  if (!isTogether) end()
  await (isTogether ? queueCycle(0) : (await queueCycle(0)).response)
  const answers: Promise<unknown>[] = []
  for (const [index, one] of steps.entries()) {
    const call = one === 'cycle' ? (await queueCycle(index + 1)).response : set(one.version, one.views)
    const answer = call.then(
      (value) => ('weights_version' in value ? value.weights_version : value),
      (error: unknown) => {
        const { kind, fields } = error as ServiceError
        return { kind, fields }
      },
    )
    answers.push(answer)
    if (!isTogether) await answer
  }
  end()
  return {
    answers: await Promise.all(answers),
    stored: [...store.listWeights()],
    state: service.weights.state(),
  }
}

test('requests that wait have the responses and the effect of the same requests one by one', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 20, size: 'max' }), async (steps) => {
      expect(await run(steps, true)).toEqual(await run(steps, false))
    }),
    { numRuns: 30 },
  )
})
