/** The warm-up: it runs the whole path on a store of its own, and ends when it is told to. */
import { expect, test } from 'vitest'
import { loadCodec } from '../codec/index.js'
import { createMemoryStore } from '../store/index.js'
import { FakeModel } from '../../test/helpers/fake-model.js'
import { bytesOf, cycleBody } from '../../test/helpers/bodies.js'
import { CycleService } from './service.js'
import { StageClock } from './stage-clock.js'
import { warmUp } from './warm-up.js'

function parts(model: FakeModel) {
  return {
    codec: loadCodec('auto').codec,
    store: createMemoryStore(),
    model: () => model,
    clock: () => 0,
    limits: () => ({ clockSkewMs: 2000, cyclesWaitingMax: 4 }),
    initialWeights: { version: 'initial', weights: { views: 1, comments: 1, up: 1, downvote_share: 0 } },
    textEncodeMsMax: 1000,
    log: { warn: () => undefined, error: () => undefined },
  }
}

test('scores every post of each generated cycle and leaves the real store empty', async () => {
  const model = new FakeModel()
  const { store, ...others } = parts(model)
  await warmUp({ ...others, store }, () => false)
  expect(model.seen.map(({ count }) => count)).toEqual(Array.from({ length: 30 }, () => 300))
  expect(store.lastCycle()).toBeUndefined()
})

test('stops at the first real cycle', async () => {
  const model = new FakeModel()
  await warmUp(parts(model), () => model.seen.length >= 2)
  expect(model.seen).toHaveLength(2)
})

test('is over once the body of a cycle has arrived, or the service is closing', async () => {
  const valid = await CycleService.open(parts(new FakeModel()))
  expect(valid.isUsed).toBe(false)
  const response = valid.submit({ json: bytesOf(cycleBody(0)), gzip: null }, Date.now(), new StageClock(0))
  expect(valid.isUsed).toBe(true)
  await response
  const closing = await CycleService.open(parts(new FakeModel()))
  await closing.close()
  expect(closing.isUsed).toBe(true)
})
