/**
 * The weights of the service against a naive model that keeps every setting in a list, over each store; and what a long
 * history costs.
 */
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { silentLog } from '../base/index.js'
import { createMemoryContents, memoryStore } from '../../test/helpers/memory-store.js'
import { storeImplementations } from '../../test/helpers/store-implementations.js'
import { formatInstant } from '../contract/index.js'
import type { WeightsSetting } from '../pool/index.js'
import { StoreError, type Store } from '../store/index.js'
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
      readonly group: readonly { readonly version: string; readonly views: number }[]
      readonly write: 'stored' | 'refused' | 'stored and reported as failed'
    }
  | { readonly kind: 'clock advances' | 'clock is set back' | 'cycle stored'; readonly minutes: number }
  | { readonly kind: 'reload' | 'restart' }
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('set' as const),
      group: fc.array(
        fc.record({
          version: fc.constantFrom('initial', 'a', 'b', 'c', 'd'),
          views: fc.constantFrom(0, 0, 0, 0, 1),
        }),
        { minLength: 1, maxLength: 4 },
      ),
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
      const { group, write } = one
      store.appendWeights = async (entries, count) => {
        if (write !== 'refused') await append(entries, count)
        if (write !== 'stored') throw new StoreError('failed', 'fails on purpose')
      }
      const countBefore = naive.settings.length
      const expected = group.map(({ version, views }) => {
        const result = naive.set(version, views, nowMs, newestCycleMs)
        const isAppended = naive.settings.slice(countBefore).some((setting) => setting.version === version)
        const kind = write !== 'stored' && isAppended ? 'unavailable' : 'conflict'
        const isRefused = kind === 'unavailable' || result === 'conflict'
        return isRefused ? (expect.objectContaining({ kind }) as unknown) : result
      })
      if (write === 'refused') naive.settings.splice(countBefore)
      const requests = group.map(({ version, views }) => ({
        version,
        weights: weightsOf(views),
        note: version,
      }))
      const results = await weights.set(requests, nowMs, newestCycleMs)
      expect(requests.map((request) => results.get(request))).toEqual(expected)
    } else if (one.kind === 'clock advances') nowMs += one.minutes * 60_000
    else if (one.kind === 'clock is set back') nowMs = Math.max(startMs, nowMs - one.minutes * 60_000)
    else if (one.kind === 'cycle stored')
      newestCycleMs = Math.max(newestCycleMs, nowMs + one.minutes * 60_000)
    else if (one.kind === 'reload') await weights.reload()
    else weights = await StoredWeights.open(store, initial, nowMs, log)
    expect(weights.state()).toEqual(naive.state())
    for (let ms = startMs - boundaryMs; ms <= nowMs + 8 * boundaryMs; ms += boundaryMs) {
      expect(weights.inForceAt(ms)).toEqual(naive.inForceAt(ms))
      expect(weights.versionAt(ms - 1)).toBe(naive.inForceAt(ms - 1).version)
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

describe('a long history', () => {
  /** One setting a second. */
  async function filled(count: number) {
    const contents = createMemoryContents()
    const store = memoryStore({ contents })
    const weights = await StoredWeights.open(store, initial, startMs, log)
    for (let number = 1; number < count; number++)
      await weights.set(
        [{ version: `v${number}`, weights: weightsOf(1), note: '' }],
        startMs + number * 1000,
        0,
      )
    return { contents, store, weights, endMs: startMs + count * 1000 }
  }

  /** Records that are read, looked for, written and removed while `work` runs. */
  async function recordsUsed(
    contents: ReturnType<typeof createMemoryContents>,
    work: () => unknown,
  ): Promise<number> {
    let used = 0
    const restores: (() => void)[] = []
    for (const database of Object.values(contents)) {
      const calls = (['getBinary', 'doesExist', 'putSync', 'removeSync'] as const).map((name) =>
        vi.spyOn(database, name),
      )
      const ranges = vi.spyOn(database, 'getRange')
      restores.push(() => {
        for (const spy of calls) used += spy.mock.calls.length
        for (const { value } of ranges.mock.results) used += (value as readonly unknown[]).length
        for (const spy of [...calls, ranges]) spy.mockRestore()
      })
    }
    await work()
    for (const restore of restores) restore()
    return used
  }

  async function costs(count: number): Promise<readonly number[]> {
    const { contents, store, weights, endMs } = await filled(count)
    const set = async (version: string, views: number) => {
      const results = await weights.set([{ version, weights: weightsOf(views), note: '' }], endMs, 0)
      return [...results.values()][0]
    }
    const works: (() => unknown)[] = [
      () => StoredWeights.open(store, initial, endMs, log),
      () => weights.reload(),
      () => set('new', 1),
      async () => expect(await set('v2', 7)).toMatchObject({ kind: 'conflict' }),
      () => set('v2', 1),
      () => set('v2', 1),
      () => expect(weights.versionAt(startMs + 150_000)).toBe('initial'),
      () => expect(weights.versionAt(endMs + boundaryMs)).toBe('v2'),
      () => weights.state(),
    ]
    const used: number[] = []
    for (const work of works) used.push(await recordsUsed(contents, work))
    return used
  }

  test('of 10,000 settings costs as many records as one of 1,000 per start, setting, conflict and cycle', async () => {
    const [short, long] = [await costs(1000), await costs(10_000)]
    expect(long).toEqual(short)
    expect(Math.max(...long)).toBeLessThan(30)
  })

  test('is not in memory: the store is asked for all but the newest settings', async () => {
    const { contents, weights, endMs } = await filled(10_000)
    for (let ms = startMs; ms < endMs - 2 * boundaryMs; ms += boundaryMs)
      expect(await recordsUsed(contents, () => weights.versionAt(ms))).toBeGreaterThan(0)
    for (let number = 1; number < 9990; number += 90)
      expect(await recordsUsed(contents, () => weights.find(`v${number}`))).toBeGreaterThan(0)
  })

  test('names the weights in force although storage cannot be read', async () => {
    const { store, weights, endMs } = await filled(1000)
    const [now, later] = [weights.versionAt(endMs), weights.versionAt(endMs + boundaryMs)]
    expect(now).not.toBe(later)
    const fails = () => {
      throw new StoreError('failed', 'the storage cannot be read')
    }
    for (const name of ['weightsAt', 'readWeights', 'findWeights', 'weightsCount'] as const)
      store[name] = fails
    expect([weights.versionAt(endMs), weights.versionAt(endMs + boundaryMs)]).toEqual([now, later])
    expect(weights.state().current.version).toBe('v999')
  })
})
