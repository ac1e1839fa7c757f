/** The pool that a store holds, as a start finds it. */
import { expect, test } from 'vitest'
import { bytesOf, candidate, cycleBody, cycleMs, reading } from '../../test/helpers/bodies.js'
import { FakeModel } from '../../test/helpers/fake-model.js'
import { referenceCodec } from '../codec/index.js'
import { createMemoryContents, createMemoryStore } from '../store/index.js'
import { loadPool } from './saved-state.js'
import { CycleService } from './service.js'
import { StageClock } from './stage-clock.js'

test('where keys stand is another secret after each start, and stays so from cycle to cycle', async () => {
  const contents = createMemoryContents()
  const store = createMemoryStore({ contents })
  const fresh = loadPool(store).state
  expect(fresh.factors).not.toEqual(loadPool(store).state.factors)
  const model = new FakeModel()
  const service = await CycleService.open({
    ...{ codec: referenceCodec, store, model: () => model, clock: () => cycleMs(9) },
    limits: () => ({ clockSkewMs: 0, cyclesWaitingMax: 4 }),
    textEncodeMsMax: 1000,
    initialWeights: { version: 'w', weights: { views: 1, comments: 1, up: 1, downvote_share: 0 } },
    log: { warn: () => undefined, error: () => undefined },
  })
  const body = cycleBody(0, { candidates: [candidate('g', 1)], engagement: [reading('g', 1, cycleMs(0))] })
  await service.submit({ json: bytesOf(body), gzip: null }, cycleMs(9), new StageClock(0))
  const pool = loadPool(createMemoryStore({ contents }))
  const { factors, count } = pool.state
  expect(count).toBe(1)
  expect(factors).not.toEqual(fresh.factors)
  pool.publish(pool.plan(referenceCodec.decodeCycle(bytesOf(cycleBody(1))), 2))
  expect(pool.state.factors).toBe(factors)
})
