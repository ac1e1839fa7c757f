/** The warm-up: it runs the whole path on a store and a model of its own, logs nothing of its posts, and gives way. */
import { expect, test, vi } from 'vitest'
import { silentLog } from '../base/index.js'
import { bytesOf, cycleBody } from '../../test/helpers/bodies.js'
import { FakeModel } from '../../test/helpers/fake-model.js'
import { loadCodec } from '../codec/index.js'
import { createMemoryStore } from '../store/index.js'
import { CycleService, type CycleServiceParts } from './service.js'
import { StageClock } from './stage-clock.js'
import { warmUp } from './warm-up.js'
import { RequestBody } from './request-body.js'

const model = new FakeModel()

function partsWith(more: Partial<CycleServiceParts> = {}): CycleServiceParts {
  return {
    codec: loadCodec('auto').codec,
    store: createMemoryStore(),
    model: () => model,
    clock: () => 0,
    limits: () => ({ clockSkewMs: 2000, cyclesWaitingMax: 4 }),
    initialWeights: { version: 'initial', weights: { views: 1, comments: 1, up: 1, downvote_share: 0 } },
    textEncodeMsMax: 1000,
    log: silentLog,
    ...more,
  }
}

/** Parts whose codec calls `onCycle` with the number of each cycle before it decodes it. */
function partsThatCall(onCycle: (count: number) => void): CycleServiceParts {
  const { codec } = loadCodec('auto')
  let count = 0
  return partsWith({
    codec: {
      ...codec,
      readCycle: (json) => {
        onCycle(++count)
        return codec.readCycle(json)
      },
    },
  })
}

async function warmedUp(parts: CycleServiceParts, service?: CycleService) {
  const log = { ...silentLog, debug: vi.fn(), warn: vi.fn() }
  await warmUp(service ?? (await CycleService.open(parts)), parts, log)
  const finished = log.debug.mock.calls.map(([fields]) => (fields as { cycles: number }).cycles)
  return { finished, warnings: log.warn.mock.calls.length }
}

test('runs thirty cycles without the serving model, and leaves the real store empty', async () => {
  const parts = partsWith()
  expect(await warmedUp(parts)).toEqual({ finished: [30], warnings: 0 })
  expect(model.seen).toEqual([])
  expect(parts.store.lastCycle()).toBeUndefined()
})

test('runs while no model is loaded', async () => {
  expect(await warmedUp(partsWith({ model: () => null }))).toEqual({ finished: [30], warnings: 0 })
})

test('scores every post of each generated cycle', async () => {
  const { codec } = loadCodec('auto')
  const counts: number[] = []
  const counting: typeof codec = {
    ...codec,
    encodeResponse: (response) => {
      counts.push(response.results.score.length)
      return codec.encodeResponse(response)
    },
  }
  await warmedUp(partsWith({ codec: counting }))
  expect(counts).toEqual(Array.from({ length: 30 }, () => 300))
})

test('ends when the body of a cycle arrives', async () => {
  const body = new RequestBody(bytesOf(cycleBody(0)))
  const parts = partsThatCall((count) => {
    if (count === 2) service.intake.submit(body, Date.now(), new StageClock(0)).catch(() => undefined)
  })
  const service = await CycleService.open(parts)
  expect(await warmedUp(parts, service)).toEqual({ finished: [2], warnings: 0 })
})

test('ends when the service closes', async () => {
  const parts = partsThatCall((count) => {
    if (count === 3) void service.close()
  })
  const service = await CycleService.open(parts)
  expect(await warmedUp(parts, service)).toEqual({ finished: [3], warnings: 0 })
})

test('a failure anywhere in it is one warning, and no line about its posts', async () => {
  const lines: unknown[] = []
  const log = {
    ...silentLog,
    warn: (...line: unknown[]) => {
      lines.push(line)
    },
    error: (...line: unknown[]) => {
      lines.push(line)
    },
  }
  const failing = partsThatCall(() => {
    throw new Error('the codec fails')
  })
  expect(await warmedUp({ ...failing, log })).toEqual({ finished: [], warnings: 1 })
  // Already when its service opens.
  const service = await CycleService.open(partsWith())
  const unusable = partsWith({ log, initialWeights: undefined as never })
  expect(await warmedUp(unusable, service)).toEqual({ finished: [], warnings: 1 })
  expect(lines).toEqual([])
})
