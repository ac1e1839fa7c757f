/** Outcomes that contradict the stored cycles and models. */
import { expect, test } from 'vitest'
import { silentLog } from '../base/index.js'
import { bytesOf, candidate, cycleBody, cycleMs, reading, removal } from '../../test/helpers/bodies.js'
import { FakeModel } from '../../test/helpers/fake-model.js'
import '../../test/helpers/poisoned-memory.js'
import { referenceCodec } from '../codec/index.js'
import { formatInstant } from '../contract/index.js'
import { createMemoryStore } from '../store/index.js'
import { CycleService } from './service.js'
import { StageClock } from './stage-clock.js'
import { RequestBody } from './request-body.js'

const nowMs = cycleMs(10)

/** Post 1 is pending, post 2 has left, version m1 has been loaded. */
async function service(): Promise<CycleService> {
  const store = createMemoryStore()
  await store.models.claimVersion('m1', 'identity')
  const opened = await CycleService.open({
    codec: referenceCodec,
    store,
    model: () => new FakeModel(),
    clock: () => nowMs,
    textEncodeMsMax: 0,
    limits: () => ({ clockSkewMs: 2000, cyclesWaitingMax: 4 }),
    initialWeights: { version: 'initial', weights: { views: 1, comments: 1, up: 1, downvote_share: 0 } },
    log: silentLog,
  })
  const posts = [1, 2]
  const cycles = [
    cycleBody(0, {
      candidates: posts.map((post) => candidate('g', post)),
      engagement: posts.map((post) => reading('g', post, cycleMs(0))),
    }),
    cycleBody(1, { removals: [removal('g', 2)] }),
  ]
  for (const cycle of cycles)
    await opened.intake.submit(new RequestBody(bytesOf(cycle)), nowMs, new StageClock(0))
  return opened
}

const byModel = (model_version: string): object => ({
  picked_by: { type: 'model', model_version, weights_version: 'w', cycle_id: '20260301T0000' },
})

const outcome = (over: object = {}): Uint8Array =>
  bytesOf({
    placement_id: 'p',
    gall_id: 'g',
    post_no: 1,
    tier: 'main',
    placed_at: formatInstant(nowMs),
    picked_by: { type: 'operator' },
    ...over,
  })

const none = { unknown_tier: 0, unknown_post: 0, unknown_model_version: 0, placed_in_future: 0 }

test('outcomes of pending posts, of posts that left, and of a loaded version contradict nothing', async () => {
  const outcomes = [outcome(), outcome({ post_no: 2, tier: 'night' }), outcome(byModel('m1'))]
  expect(await (await service()).contradictions(outcomes, nowMs)).toBeNull()
})

test.each([
  ['a tier that no removal has', { tier: 'front' }, 'unknown_tier', 'tier'],
  ['a post of another gallery', { gall_id: 'h' }, 'unknown_post', 'post_no'],
  ['a post that never entered', { post_no: 3 }, 'unknown_post', 'post_no'],
  ['a version that was never loaded', byModel('m2'), 'unknown_model_version', 'picked_by.model_version'],
  ['a placement in the future', { placed_at: formatInstant(nowMs + 1) }, 'placed_in_future', 'placed_at'],
])('%s is a contradiction', async (_, over, kind, member) => {
  expect(await (await service()).contradictions([outcome(), outcome(over)], nowMs)).toEqual({
    ...none,
    [kind]: 1,
    paths: [`outcomes[1].${member}`],
  })
})

test('all contradictions are counted, and the first five paths are listed', async () => {
  const outcomes = Array.from({ length: 500 }, () => outcome({ tier: 'front', post_no: 9 }))
  expect(await (await service()).contradictions(outcomes, nowMs)).toEqual({
    ...none,
    unknown_tier: 500,
    unknown_post: 500,
    paths: [
      ...['outcomes[0].tier', 'outcomes[0].post_no', 'outcomes[1].tier', 'outcomes[1].post_no'],
      'outcomes[2].tier',
    ],
  })
})
