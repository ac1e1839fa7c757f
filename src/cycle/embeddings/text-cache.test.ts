/** What the cache of texts keeps: little more than the pending posts, whatever the encoder makes of their texts. */
import { expect, test } from 'vitest'
import { silentLog } from '../../base/index.js'
import { bytesOf, candidate, cycleBody, cycleMs, removal } from '../../../test/helpers/bodies.js'
import { FakeTextEncoder } from '../../../test/helpers/encoding-model.js'
import { FakeModel } from '../../../test/helpers/fake-model.js'
import '../../../test/helpers/poisoned-memory.js'
import { createMemoryStore } from '../../store/index.js'
import { CycleService } from '../service.js'
import { StageClock } from '../stage-clock.js'
import { Quarantine } from './quarantine.js'
import { TextCache } from './text-cache.js'
import { RequestBody } from '../intake/index.js'

const postsPerCycle = 100
const nowMs = cycleMs(1000)

test.each([
  ['every text', false],
  ['no text', true],
])('posts that have left are forgotten when the encoder encodes %s', async (_, isUnable) => {
  const encoder = new FakeTextEncoder('a'.repeat(64))
  const store = createMemoryStore()
  const model = new FakeModel()
  const service = await CycleService.open({
    store,
    model: () => model,
    clock: () => nowMs,
    textEncodeMsMax: 1000,
    limits: () => ({ clockSkewMs: 2000, cyclesWaitingMax: 4 }),
    initialWeights: { version: 'initial', weights: { views: 1, comments: 1, up: 1, downvote_share: 0 } },
    log: silentLog,
  })
  const cache = new TextCache(encoder, store, {
    quarantine: new Quarantine(),
    log: silentLog,
  })
  const postsOf = (index: number): number[] =>
    Array.from({ length: postsPerCycle }, (_, i) => index * postsPerCycle + i + 1)
  const known: number[] = []
  for (let index = 0; index < 15; index++) {
    if (isUnable) for (const post of postsOf(index)) encoder.unreadable.add(`post ${post}`)
    const body = cycleBody(index, {
      candidates: postsOf(index).map((post) => candidate('g', post, { title: `post ${post}` })),
      removals: index === 0 ? [] : postsOf(index - 1).map((post) => removal('g', post)),
    })
    await service.intake.submit(new RequestBody(bytesOf(body)), nowMs, new StageClock(0))
    await cache.complete(
      () => service.pool,
      () => false,
    )
    cache.sweep(service.pool)
    known.push(cache.knownCount)
  }
  expect(known[0]).toBe(postsPerCycle)
  expect(Math.max(...known)).toBeLessThanOrEqual(5 * postsPerCycle)
})
