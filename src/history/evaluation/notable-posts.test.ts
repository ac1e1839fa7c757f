/**
 * The posts at which the model and the operators differ, in a history of four cycles: `early` and `later` were picked by the
 * model before they were saved, `missed` and `lowest` were saved without a pick, and `only` was picked and not saved.
 */
import { expect, test } from 'vitest'
import { bytesOf, candidate, cycleBody, cycleMs, reading, removal } from '../../../test/helpers/bodies.js'
import { serviceParts } from '../../../test/helpers/cycle-service.js'
import { FakeModel } from '../../../test/helpers/fake-model.js'
import type { CycleRequest } from '../../contract/index.js'
import { CycleService, RequestBody, StageClock } from '../../cycle/index.js'
import { createMemoryStore, type Store } from '../../store/index.js'
import { notablePosts } from './notable-posts.js'

/** The index is the post number; the score of a post is a hundredth of its views. */
const titles = ['', 'early', 'only', 'later', 'missed', 'lowest']
const views = [0, 90, 80, 70, 20, 10]
const [early, later, missed, lowest] = [1, 3, 4, 5]

function cycle(index: number, pending: readonly number[], saved: readonly number[]): CycleRequest {
  return cycleBody(index, {
    candidates: index === 0 ? pending.map((no) => candidate('g', no, { title: titles[no]! })) : [],
    engagement: pending.map((no) => reading('g', no, cycleMs(index), { views: views[no]! })),
    removals: saved.map((no) =>
      removal('g', no, {
        reason: 'saved',
        tier: 'main',
        decided_at: new Date(cycleMs(index) - 60_000).toISOString(),
      }),
    ),
  })
}

/** Each save gives the model a pick in the cycle before it. */
const cycles = [
  cycle(0, [1, 2, 3, 4, 5], []),
  cycle(1, [1, 2, 3, 4, 5], [missed, lowest]),
  cycle(2, [1, 2, 3], [early]),
  cycle(3, [2, 3], []),
  cycle(4, [2, 3], [later]),
]

async function served(): Promise<Store> {
  const store = createMemoryStore()
  const model = new FakeModel()
  let nowMs = 0
  const weights = { views: 1, comments: 0, up: 0, downvote_share: 0 }
  const service = await CycleService.open(
    serviceParts({
      store,
      model: () => model,
      clock: () => nowMs,
      initialWeights: { version: 'initial', weights },
    }),
  )
  for (const body of cycles) {
    nowMs = Date.parse(body.cycle_time)
    await service.intake.submit(new RequestBody(bytesOf(body)), nowMs, new StageClock(0))
  }
  await service.close()
  return store
}

test('the longest leads come first, and of the missed posts those that the model ranked lowest', async () => {
  const notable = await notablePosts(await served(), 5)
  // Two saves in cycle 1 let the model pick `early` and `only` in cycle 0, one in cycle 2 `later` in cycle 1.
  expect(notable.earlier).toEqual([
    { gall_id: 'g', post_no: later, title: 'later', saved_ms: cycleMs(4) - 60_000, lead_minutes: 14 },
    { gall_id: 'g', post_no: early, title: 'early', saved_ms: cycleMs(2) - 60_000, lead_minutes: 9 },
  ])
  expect(notable.missed.map(({ title, lead_minutes }) => [title, lead_minutes])).toEqual([
    ['lowest', null],
    ['missed', null],
  ])
})

test('no more posts than asked for are returned', async () => {
  const notable = await notablePosts(await served(), 1)
  expect([notable.earlier, notable.missed].map((posts) => posts.map(({ title }) => title))).toEqual([
    ['later'],
    ['lowest'],
  ])
})

test('posts whose request has expired are left out, since their titles are unknown', async () => {
  const store = await served()
  await store.expiry.removeEntries([1])
  expect(await notablePosts(store, 5)).toEqual({ earlier: [], missed: [] })
})
