/**
 * The weights of the service against a naive model that keeps every setting in a list, over each store; and how
 * long a history may be.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { silentLog } from '../base/index.js'
import { storeImplementations } from '../../test/helpers/store-implementations.js'
import { formatInstant } from '../contract/index.js'
import type { WeightsSetting } from '../pool/index.js'
import { createMemoryStore, StoreError, type Store } from '../store/index.js'
import { StoredWeights } from './stored-weights.js'

const boundaryMs = 300_000
const startMs = Date.parse('2026-01-01T00:00:00Z')
const weightsOf = (views: number) => ({ views, comments: 0, up: 1, downvote_share: 0 })
const initial = { version: 'initial', weights: weightsOf(0), note: 'first' }
const log = { ...silentLog, warn: () => expect.fail('nothing warns') }

/** Every setting ever made, and the rules of the contract in their plainest form. */
class NaiveWeights {
  readonly settings: WeightsSetting[] = [{ ...initial, setAtMs: startMs, firstCycleMs: 0 }]

  set(version: string, views: number, nowMs: number, newestCycleMs: number): WeightsSetting | 'conflict' {
    const earlier = this.settings.filter((setting) => setting.version === version)
    if (earlier.some(({ weights }) => weights.views !== views)) return 'conflict'
    const current = this.settings[this.settings.length - 1]!
    if (current.version === version) return current
    let firstCycleMs = 0
    while (firstCycleMs <= Math.max(nowMs, newestCycleMs) - startMs) firstCycleMs += boundaryMs
    const setting = { version, weights: weightsOf(views), note: version, setAtMs: nowMs }
    this.settings.push({ ...setting, firstCycleMs: startMs + firstCycleMs })
    return this.settings[this.settings.length - 1]!
  }

  inForceAt(ms: number): WeightsSetting {
    let inForce = this.settings[0]!
    for (const setting of this.settings) if (setting.firstCycleMs <= ms) inForce = setting
    return inForce
  }

  state(): unknown {
    const [current, previous] = [...this.settings].reverse()
    return {
      current: current && recordOf(current),
      previous: previous === undefined ? null : recordOf(previous),
    }
  }
}

function recordOf({ version, weights, note, setAtMs, firstCycleMs }: WeightsSetting): unknown {
  const times = { set_at: formatInstant(setAtMs), first_cycle_time: formatInstant(firstCycleMs) }
  return { version, weights, note, ...times }
}

const minutes = fc.integer({ min: 0, max: 25 })
type Step =
  | {
      readonly kind: 'set'
      readonly version: string
      readonly views: number
      readonly write: 'stored' | 'refused' | 'stored and reported as failed'
    }
  | { readonly kind: 'clock advances' | 'clock is set back' | 'cycle stored'; readonly minutes: number }
  | { readonly kind: 'reload' | 'restart' }
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('set' as const),
      version: fc.constantFrom('initial', 'a', 'b', 'c', 'd'),
      views: fc.constantFrom(0, 0, 0, 0, 1),
      write: fc.constantFrom('stored', 'stored', 'stored', 'refused', 'stored and reported as failed'),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom('clock advances', 'clock advances', 'clock is set back', 'cycle stored'),
      minutes,
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('reload', 'restart') }) },
)

/** Applies each step to the service's weights and to the model; both must agree after each. */
async function compare(store: Store, steps: readonly Step[]): Promise<void> {
  const naive = new NaiveWeights()
  let nowMs = startMs
  let newestCycleMs = -Infinity
  let weights = await StoredWeights.open(store, initial, nowMs, log)
  const append = store.appendWeights.bind(store)
  for (const one of steps) {
    if (one.kind === 'set') {
      const { version, views, write } = one
      store.appendWeights = async (number, entry) => {
        if (write !== 'refused') await append(number, entry)
        if (write !== 'stored') throw new StoreError('failed', 'fails on purpose')
      }
      const countBefore = naive.settings.length
      const expected = naive.set(version, views, nowMs, newestCycleMs)
      const isLost = write !== 'stored' && naive.settings.length > countBefore
      if (write === 'refused') naive.settings.splice(countBefore)
      const set = weights.set({ version, weights: weightsOf(views), note: version }, nowMs, newestCycleMs)
      if (isLost) await expect(set).rejects.toMatchObject({ kind: 'unavailable' })
      else if (expected === 'conflict') await expect(set).rejects.toMatchObject({ kind: 'conflict' })
      else expect(await set).toEqual(expected)
    } else if (one.kind === 'clock advances') nowMs += one.minutes * 60_000
    else if (one.kind === 'clock is set back') nowMs = Math.max(startMs, nowMs - one.minutes * 60_000)
    else if (one.kind === 'cycle stored')
      newestCycleMs = Math.max(newestCycleMs, nowMs + one.minutes * 60_000)
    else if (one.kind === 'reload') await weights.reload()
    else weights = await StoredWeights.open(store, initial, nowMs, log)
    expect(weights.state()).toEqual(naive.state())
    for (let ms = startMs - boundaryMs; ms <= nowMs + 8 * boundaryMs; ms += boundaryMs) {
      expect(weights.inForceAt(ms)).toEqual(naive.inForceAt(ms))
      expect(weights.inForceAt(ms - 1)).toEqual(naive.inForceAt(ms - 1))
    }
  }
}

describe.each(Object.entries(storeImplementations))('%s', (_, newStore) => {
  test('weights follow the rules of a list of all settings, through late cycles, clocks, failures and restarts', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60, size: 'max' }), async (steps) => {
        await compare(await newStore(), steps)
      }),
      { numRuns: 6 },
    )
  })
})

describe('a history', () => {
  test('names the weights in force although storage cannot be read', async () => {
    const store = createMemoryStore()
    const weights = await StoredWeights.open(store, initial, startMs, log)
    await weights.set({ version: 'a', weights: weightsOf(1), note: '' }, startMs, 0)
    store.listWeights = () => {
      throw new StoreError('failed', 'the storage cannot be read')
    }
    expect(weights.inForceAt(startMs).version).toBe('initial')
    expect(weights.inForceAt(startMs + boundaryMs).version).toBe('a')
    expect(weights.state().current.version).toBe('a')
  })

  test('of 10,000 settings takes no more, and refuses none that is current', async () => {
    const store = createMemoryStore()
    const request = { version: 'a', weights: weightsOf(1), note: '' }
    const setting = { ...request, setAtMs: startMs, firstCycleMs: startMs }
    for (let number = 1; number < 10_000; number++)
      await store.appendWeights(number, { ...setting, version: `v${number}` })
    const weights = await StoredWeights.open(
      store,
      { ...initial, version: 'v1', weights: weightsOf(1) },
      startMs,
      log,
    )
    await weights.set(request, startMs, 0)
    expect((await weights.set(request, startMs, 0)).version).toBe('a')
    await expect(weights.set({ ...request, version: 'b' }, startMs, 0)).rejects.toMatchObject({
      kind: 'unprocessable',
      message: 'weights have been set 10000 times: no more can be stored',
    })
    expect([...store.listWeights()]).toHaveLength(10_000)
  })
})
