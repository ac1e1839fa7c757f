/** The warm-up before the first cycle: it runs the whole path, and it stops for real cycles. */
import { expect, test } from 'vitest'
import { loadCodec } from '../codec/index.js'
import { createMemoryStore } from '../store/index.js'
import { FakeModel } from '../../test/helpers/fake-model.js'
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

test('every generated cycle is valid, all of its posts are scored, and nothing reaches the real store', async () => {
  const model = new FakeModel()
  const { store, ...others } = parts(model)
  await warmUp({ ...others, store }, () => false)
  expect(new Set(model.seen.map((inputs) => inputs.count))).toEqual(new Set([1000]))
  expect(store.lastCycle()).toBeUndefined()
})

test('it stops at the first real cycle', async () => {
  const model = new FakeModel()
  await warmUp(parts(model), () => model.seen.length >= 2)
  expect(model.seen.length).toBe(2)
})
