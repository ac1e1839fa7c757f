/** The warm-up: it runs the whole path on a store and a model of its own, logs nothing of its posts, and gives way. */
import { beforeEach, expect, test, vi } from 'vitest'
import { silentLog } from '../base/index.js'
import { bytesOf, cycleBody } from '../../test/helpers/bodies.js'
import { FakeModel } from '../../test/helpers/fake-model.js'
import type * as Codec from '../codec/index.js'
import { createMemoryStore } from '../store/index.js'
import { CycleService, type CycleServiceParts } from './service.js'
import { StageClock } from './stage-clock.js'
import { warmUp } from './warm-up.js'
import { RequestBody } from './intake/index.js'

const model = new FakeModel()

function partsWith(more: Partial<CycleServiceParts> = {}): CycleServiceParts {
  return {
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

/** Called with the number of each cycle before it is decoded, and with the scores of each response. */
let onCycle: (count: number) => void
let onResponse: (scoreCount: number) => void
let cycleCount: number
vi.mock('../codec/index.js', async (importActual) => {
  const actual = await importActual<typeof Codec>()
  const readCycle: typeof Codec.readCycle = (...args) => {
    onCycle(++cycleCount)
    return actual.readCycle(...args)
  }
  const encodeResponse: typeof Codec.encodeResponse = (response) => {
    onResponse(response.results.score.length)
    return actual.encodeResponse(response)
  }
  return { ...actual, readCycle, encodeResponse }
})
beforeEach(() => {
  cycleCount = 0
  onCycle = () => undefined
  onResponse = () => undefined
})

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
  const counts: number[] = []
  onResponse = (count) => void counts.push(count)
  await warmedUp(partsWith())
  expect(counts).toEqual(Array.from({ length: 30 }, () => 300))
})

test('ends when the body of a cycle arrives', async () => {
  const body = new RequestBody(bytesOf(cycleBody(0)))
  onCycle = (count) => {
    if (count === 2) service.intake.submit(body, Date.now(), new StageClock(0)).catch(() => undefined)
  }
  const parts = partsWith()
  const service = await CycleService.open(parts)
  expect(await warmedUp(parts, service)).toEqual({ finished: [2], warnings: 0 })
})

test('ends when the service closes', async () => {
  onCycle = (count) => {
    if (count === 3) void service.close()
  }
  const parts = partsWith()
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
  onCycle = () => {
    throw new Error('the codec fails')
  }
  expect(await warmedUp(partsWith({ log }))).toEqual({ finished: [], warnings: 1 })
  // Already when its service opens.
  const service = await CycleService.open(partsWith())
  const unusable = partsWith({ log, initialWeights: undefined as never })
  expect(await warmedUp(unusable, service)).toEqual({ finished: [], warnings: 1 })
  expect(lines).toEqual([])
})
