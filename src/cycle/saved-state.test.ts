/** The pool that a store holds, as read at startup. */
import { expect, test } from 'vitest'
import { silentLog } from '../base/index.js'
import {
  bytesOf,
  candidate,
  cycleBody,
  cycleMs,
  reading,
  removal,
  snapshot,
} from '../../test/helpers/bodies.js'
import { columnsOf } from '../../test/helpers/columns.js'
import { FakeModel } from '../../test/helpers/fake-model.js'
import { referenceCodec } from '../codec/index.js'
import type { CycleRequest } from '../contract/index.js'
import { Pool } from '../pool/index.js'
import { createMemoryContents, createMemoryStore } from '../store/index.js'
import { loadPool } from './saved-state.js'
import { CycleService } from './service.js'
import { StageClock } from './stage-clock.js'

/** The pool read at startup after a service has stored `cycles`. */
async function restartAfter(cycles: readonly CycleRequest[]): Promise<Pool> {
  const contents = createMemoryContents()
  const model = new FakeModel()
  const nowMs = cycleMs(20_000)
  const service = await CycleService.open({
    ...{
      codec: referenceCodec,
      store: createMemoryStore({ contents }),
      model: () => model,
      clock: () => nowMs,
    },
    limits: () => ({ clockSkewMs: 0, cyclesWaitingMax: 4 }),
    textEncodeMsMax: 1000,
    initialWeights: { version: 'w', weights: { views: 1, comments: 1, up: 1, downvote_share: 0 } },
    log: silentLog,
  })
  for (const cycle of cycles)
    await service.submit({ json: bytesOf(cycle), gzip: null }, nowMs, new StageClock(0))
  return loadPool(createMemoryStore({ contents }))
}

const week = 7 * 24 * 12
const enter = cycleBody(0, { candidates: [candidate('g', 1), candidate('g', 2), candidate('h', 1)] })

test('a restart reads the state that the service had', async () => {
  const atMs = cycleMs(1) - 1000
  const cycles = [
    enter,
    cycleBody(1, {
      candidates: [candidate('k', 2 ** 40)],
      engagement: [reading('g', 2, atMs), reading('h', 1, atMs)],
      candidate_scores: [snapshot('h', 1, atMs)],
      removals: [removal('g', 1)],
    }),
    cycleBody(2, { engagement: [reading('g', 2, atMs + 1000)] }),
  ]
  const live = new Pool()
  cycles.forEach((cycle, i) => {
    live.publish(live.plan(columnsOf(cycle), i + 1))
  })
  const pool = await restartAfter(cycles)
  expect({ ...pool.state, index: null }).toEqual({ ...live.state, index: null })
  expect(pool.state.count).toBe(3)
  expect(pool.hasTombstone('g', 1)).toBe(true)
  expect(pool.hasTombstone('g', 2)).toBe(false)
})

test.each([
  ['finds the tombstone of a post that left exactly seven days ago', 0, true],
  ['does not find that of a post that left seven days and a cycle ago', 1, false],
])('a restart %s', async (_title, cyclesLater, expected) => {
  const cycles = [enter, cycleBody(1, { removals: [removal('g', 1)] }), cycleBody(1 + week + cyclesLater)]
  const pool = await restartAfter(cycles)
  expect(pool.state.newestCycleMs - cycleMs(1)).toBe(604_800_000 + 300_000 * cyclesLater)
  expect(pool.hasTombstone('g', 1)).toBe(expected)
})
