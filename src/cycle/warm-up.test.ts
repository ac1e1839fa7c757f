/** The warm-up: it runs the whole path on a store of its own, and ends when the service is used or its model changes. */
import { expect, test, vi } from 'vitest'
import { bytesOf, cycleBody } from '../../test/helpers/bodies.js'
import { FakeModel } from '../../test/helpers/fake-model.js'
import { loadCodec } from '../codec/index.js'
import { ModelDownError, type Model } from '../model/index.js'
import { createMemoryStore } from '../store/index.js'
import { CycleService, type CycleServiceParts } from './service.js'
import { StageClock } from './stage-clock.js'
import { warmUp } from './warm-up.js'

function partsOf(model: () => Model | null): CycleServiceParts {
  return {
    codec: loadCodec('auto').codec,
    store: createMemoryStore(),
    model,
    clock: () => 0,
    limits: () => ({ clockSkewMs: 2000, cyclesWaitingMax: 4 }),
    initialWeights: { version: 'initial', weights: { views: 1, comments: 1, up: 1, downvote_share: 0 } },
    textEncodeMsMax: 1000,
    log: { warn: () => undefined, error: () => undefined },
  }
}

/** A model that calls `onBatch` with the number of each batch before it predicts. */
function modelWith(onBatch: (count: number) => void): FakeModel {
  const model = new FakeModel()
  const predict = model.predict.bind(model)
  let count = 0
  model.predict = (inputs) => {
    onBatch(++count)
    return predict(inputs)
  }
  return model
}

async function warmedUp(parts: CycleServiceParts, service?: CycleService) {
  const log = { debug: vi.fn(), warn: vi.fn() }
  await warmUp(service ?? (await CycleService.open(parts)), parts, log)
  const finished = log.debug.mock.calls.map(([fields]) => (fields as { cycles: number }).cycles)
  return { finished, warnings: log.warn.mock.calls.length }
}

test('scores every post of each generated cycle and leaves the real store empty', async () => {
  const model = new FakeModel()
  const parts = partsOf(() => model)
  expect(await warmedUp(parts)).toEqual({ finished: [30], warnings: 0 })
  expect(model.seen.map(({ count }) => count)).toEqual(Array.from({ length: 30 }, () => 300))
  expect(parts.store.lastCycle()).toBeUndefined()
})

test('ends when the body of a cycle arrives', async () => {
  const body = { json: bytesOf(cycleBody(0)), gzip: null }
  const arrive = (count: number): void => {
    if (count === 2) void service.submit(body, Date.now(), new StageClock(0)).catch(() => undefined)
  }
  const model = modelWith(arrive)
  const parts = partsOf(() => model)
  const service = await CycleService.open(parts)
  expect(await warmedUp(parts, service)).toEqual({ finished: [2], warnings: 0 })
})

test('ends when the service closes', async () => {
  const model = modelWith((count) => {
    if (count === 3) void service.close()
  })
  const parts = partsOf(() => model)
  const service = await CycleService.open(parts)
  expect(await warmedUp(parts, service)).toEqual({ finished: [3], warnings: 0 })
})

test('does not begin without a model', async () => {
  expect(await warmedUp(partsOf(() => null))).toEqual({ finished: [0], warnings: 0 })
})

test('a model that fails causes a warning, unless another one serves by then', async () => {
  const failing = new FakeModel()
  failing.failing = true
  expect(await warmedUp(partsOf(() => failing))).toEqual({ finished: [], warnings: 1 })
  let serving: Model = modelWith(() => {
    serving = new FakeModel()
    throw new ModelDownError('the model is closed')
  })
  expect(await warmedUp(partsOf(() => serving))).toEqual({ finished: [], warnings: 0 })
})
