/** The past of a post: its rank in each cycle, and its newest reading with counters. */
import { expect, test } from 'vitest'
import { bytesOf, candidate, cycleBody, cycleMs, reading, removal } from '../../../test/helpers/bodies.js'
import { observed } from '../../../test/helpers/observed-cycles.js'
import { formatInstant } from '../../contract/index.js'
import { ModelError } from '../../model/index.js'
import type { StoredCycle } from '../../store/index.js'
import type { History } from '../recorded/session.js'
import { isPendingAt, StoredVisits, type StoredVisit } from '../recorded/stored-visits.js'
import { explainPost } from './explain-post.js'
import { cyclesOf, lastReading, outcomesOf, scoredCycle } from './post-history.js'

const key = { gall_id: 'g', post_no: 2 }

/** Post 2 is one of two with the same score in the first cycle, has no reading in the second, and leaves with the fourth. */
async function history() {
  const { sources, post } = await observed()
  const views = (index: number, counts: readonly number[]) =>
    counts.map((views, i) => reading('g', i + 1, cycleMs(index), { views }))
  await post(
    cycleBody(0, {
      candidates: [1, 2, 3, 4].map((n) => candidate('g', n)),
      engagement: views(0, [170, 150, 150, 110]),
    }),
  )
  await post(cycleBody(1, { engagement: views(1, [170]) }))
  const missing = reading('g', 2, cycleMs(2), { status: 'missing', views: 199 })
  await post(cycleBody(2, { engagement: [...views(2, [110]), missing] }))
  await post(cycleBody(3, { engagement: views(3, [120]), removals: [removal('g', 2)] }))
  const { store } = sources
  const [visit] = new StoredVisits(store).list(key)
  return { store, cycles: cyclesOf(store, visit!, key) }
}

test('a score is compared with that of an earlier or a later cycle, and a departure is known when its cycle arrives', async () => {
  const { store } = await history()
  const settings = { modelsDir: '/nowhere' } as History['settings']
  const load = (): Promise<never> => Promise.reject(new ModelError('there is no package'))
  const explained = (cycleId: string, againstId: string) =>
    explainPost({ store, settings, load }, { gall_id: 'g', post_no: 1 }, { cycleId, againstId, texts: false })
  const [first, third] = ['20240301T0000', '20240301T0010'] as const
  for (const [cycle, other] of [
    [first, third],
    [third, first],
  ] as const) {
    const { explained: one, against } = await explained(cycle, other)
    expect([one?.cycle_id, against?.cycle_id]).toEqual([cycle, other])
    // The inputs of both are known; only the model is missing.
    for (const problem of [one?.problem, against?.problem])
      expect(problem).toMatch(/^fake-1 cannot be loaded/)
    expect(one?.inputs).not.toEqual([])
  }
  const { visits } = await explainPost({ store, settings, load }, key, {
    cycleId: null,
    againstId: null,
    texts: false,
  })
  // All cycles arrive at this time.
  expect(visits).toMatchObject([{ left_cycle: '20240301T0015', known_at: formatInstant(cycleMs(100)) }])
})

test('of three visits the one that holds a cycle is explained, else the last', async () => {
  const { sources, post } = await observed()
  for (let index = 0; index < 6; index++) {
    const entering = { candidates: [candidate('g', 2)], engagement: [reading('g', 2, cycleMs(index))] }
    await post(cycleBody(index, index % 2 === 0 ? entering : { removals: [removal('g', 2)] }))
  }
  const settings = { modelsDir: '/nowhere' } as History['settings']
  const load = (): Promise<never> => Promise.reject(new ModelError('there is no package'))
  const visitOf = async (cycleId: string | null): Promise<number> => {
    const options = { cycleId, againstId: null, texts: false }
    const { visit, visits } = await explainPost({ store: sources.store, settings, load }, key, options)
    expect(visits).toHaveLength(3)
    return visit
  }
  const ids = [null, ...[0, 2, 4].map((index) => cycleBody(index).cycle_id)]
  expect(await Promise.all(ids.map(visitOf))).toEqual([2, 0, 1, 2])
})

test('each cycle of a visit has the rank among the scored posts, ties sharing theirs, and the scores of that cycle', async () => {
  const { store, cycles } = await history()
  expect(
    cycles.map(({ cycle_id, status, reason, rank, scored }) => [cycle_id, status, reason, rank, scored]),
  ).toEqual([
    ['20240301T0000', 'scored', null, 2.5, 4],
    ['20240301T0005', 'waiting', null, null, 1],
    ['20240301T0010', 'not_scored', 'post_unavailable', null, 1],
  ])
  expect(cycles[0]).toMatchObject({ weights_version: 'w', model_version: 'fake-1' })
  expect(cycles[0]?.score).toBeCloseTo(0.5, 6)
  expect(Object.keys(cycles[0]?.heads ?? {})).toEqual(['p_views', 'p_comments'])
  expect(scoredCycle(store, '20240301T0000', { ...key, post_no: 4 })).toMatchObject({ rank: 4, scored: 4 })
  expect(() => scoredCycle(store, '20240301T0005', key)).toThrow('has no score of g/2: waiting')
})

test('the last reading is the newest one with counters', async () => {
  const { store, cycles } = await history()
  expect(await lastReading(store, cycles, key)).toMatchObject({ post_no: 2, status: 'ok', views: 150 })
  expect(await lastReading(store, cycles, { ...key, post_no: 9 })).toBeNull()
  const other = { ...key, post_no: 1 }
  const [visit] = new StoredVisits(store).list(other)
  expect(await lastReading(store, cyclesOf(store, visit!, other), other)).toMatchObject({ views: 120 })
})

test('the last reading of a long visit is from its newest cycles', async () => {
  const { sources, post } = await observed()
  // One more than are read.
  for (let index = 0; index < 13; index++)
    await post(
      cycleBody(index, {
        candidates: index === 0 ? [candidate('g', 2)] : [],
        engagement: [reading('g', 2, cycleMs(index), { views: 100 + index })],
      }),
    )
  const { store } = sources
  const [visit] = new StoredVisits(store).list(key)
  expect(await lastReading(store, cyclesOf(store, visit!, key), key)).toMatchObject({ views: 112 })
})

test('the cycles of a visit are in order of cycle_time, also one that arrived late', async () => {
  const { sources, post } = await observed()
  await post(cycleBody(0, { candidates: [candidate('g', 2)] }))
  for (const index of [2, 1]) await post(cycleBody(index))
  const { store } = sources
  const [visit] = new StoredVisits(store).list(key)
  const ids = cyclesOf(store, visit!, key).map(({ cycle_id }) => cycle_id)
  expect(ids).toEqual([0, 1, 2].map((index) => cycleBody(index).cycle_id))
})

test('the outcomes of a post are those with its gallery and its number', async () => {
  const { store } = await history()
  const ids = [
    ['g', 2],
    ['h', 2],
    ['g', 22],
  ].map(([gall_id, post_no]) => ({ placement_id: `${gall_id}/${post_no}`, gall_id, post_no, tier: 'main' }))
  await store.putOutcomes(
    ids.map((record) => ({ placementId: record.placement_id, record: bytesOf(record), arrivedAtMs: 0 })),
  )
  expect(outcomesOf(store, key).map(({ placement_id }) => placement_id)).toEqual(['g/2'])
})

test('a post is pending from the cycle that brings it on, and no longer after the one that removes it, by cycle_time', () => {
  /** The third cycle arrives last. */
  const cycleAt = (number: number): StoredCycle => ({
    position: number === 3 ? 9 : number,
    cycleId: `c${number}`,
    cycleAtMs: cycleMs(number),
    receivedAt: '',
    modelVersion: '',
    weightsVersion: '',
  })
  const visit: StoredVisit = {
    gallId: 'g',
    postNo: 1,
    entered: { position: 2, row: 0 },
    begin: cycleAt(2),
    departure: { cycle: cycleAt(4), reason: 0, tier: 0, decidedMs: 0 },
  }
  const pendingAt = (one: StoredVisit): number[] =>
    [1, 2, 3, 4, 5].filter((number) => isPendingAt(one, cycleAt(number)))
  expect(pendingAt(visit)).toEqual([2, 3])
  expect(pendingAt({ ...visit, departure: null })).toEqual([2, 3, 4, 5])
  expect(pendingAt({ ...visit, begin: null })).toEqual([1, 2, 3])
})
