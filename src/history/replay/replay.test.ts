/** Replays of stored cycles: the inputs that the model received, and the stored scores. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { silentLog } from '../../base/index.js'
import { bytesOf, candidate, cycleBody, cycleMs, reading, removal } from '../../../test/helpers/bodies.js'
import { cycleSequence } from '../../../test/helpers/cycle-arbitraries.js'
import { FakeModel } from '../../../test/helpers/fake-model.js'
import { createMemoryContents, memoryStore } from '../../../test/helpers/memory-store.js'
import {
  counterNames,
  snapshotNames,
  type Candidate,
  type CycleRequest,
  type CycleResponse,
} from '../../contract/index.js'
import { CycleService, StageClock, RequestBody } from '../../cycle/index.js'
import { scoreRows, type CyclePlan } from '../../pool/index.js'
import type { ModelInputs } from '../../model/index.js'
import type { Store } from '../../store/index.js'
import { firstNeeded, replayCycles, type ReplayedCycle } from './replay.js'

const weights = { views: 1, comments: 0.5, up: 0.25, downvote_share: 0 }

describe('a replayed cycle', () => {
  test('has the inputs that the model received, and the stored scores', () =>
    fc.assert(
      fc.asyncProperty(cycleSequence, async (cycles) => {
        const { store, model } = await served(cycles)
        const seen = [...model.seen]
        for (const [index, cycle] of cycles.entries()) {
          const position = index + 1
          for await (const replayed of replayCycles(store, { from: position, to: position })) {
            const scoring = replayed.plan.scoring
            if (scoring.count > 0) expect(rowsOf(scoring)).toEqual(rowsOf(seen.shift() as ModelInputs))
            expect(await scoresOf(replayed)).toEqual(storedScores(store, cycle))
          }
        }
        expect(seen).toEqual([])
      }),
      { numRuns: 60 },
    ))

  test('is the same in a replay of all cycles and in one of its own', () =>
    fc.assert(
      fc.asyncProperty(cycleSequence, async (cycles) => {
        const { store } = await served(cycles)
        const positions: number[] = []
        for await (const replayed of replayCycles(store, { from: 1, to: cycles.length })) {
          positions.push(replayed.position)
          const among = rowsOf(replayed.plan.scoring)
          const range = { from: replayed.position, to: replayed.position }
          for await (const alone of replayCycles(store, range))
            expect(rowsOf(alone.plan.scoring)).toEqual(among)
        }
        expect(positions).toEqual(cycles.map((_, index) => index + 1))
      }),
      { numRuns: 30 },
    ))

  test('has the record of every pending post as received', () =>
    fc.assert(
      fc.asyncProperty(cycleSequence, async (cycles) => {
        const { store } = await served(cycles)
        for await (const { plan, recordOf } of replayCycles(store, { from: 1, to: cycles.length })) {
          for (let slot = 0; slot < plan.next.count; slot++) {
            const record = JSON.parse(Buffer.from(recordOf(slot)).toString()) as Candidate
            expect(record.post_no).toBe(plan.next.postNo[slot])
            expect(record.gall_id).toBe(plan.next.galleries[plan.next.gallery[slot]!])
          }
        }
      }),
      { numRuns: 30 },
    ))

  test('that the store does not have is an error', async () => {
    const { store } = await served([first()])
    const reads = replayCycles(store, { from: 1, to: 2 })
    await reads.next()
    await expect(reads.next()).rejects.toThrow('the store has no request at position 2')
  })
})

describe('a replay begins', () => {
  const posts = (index: number, numbers: readonly number[]): Partial<CycleRequest> => ({
    candidates: numbers.map((postNo) => candidate('g', postNo)),
    engagement: numbers.map((postNo) => reading('g', postNo, cycleMs(index))),
  })

  test('with the cycle in which the oldest post of that time entered, even if it has left since', async () => {
    const { store } = await served([
      cycleBody(0, posts(0, [1])),
      cycleBody(1, { ...posts(1, [2]), removals: [removal('g', 1)] }),
      cycleBody(2, posts(2, [3])),
      cycleBody(3, { removals: [removal('g', 2)] }),
      cycleBody(4, posts(4, [4])),
    ])
    expect([1, 2, 3, 4, 5].map((position) => firstNeeded(store, position))).toEqual([1, 2, 2, 3, 3])
  })

  test('with the latest entry of a post that left and entered again', async () => {
    const { store } = await served([
      cycleBody(0, posts(0, [1])),
      cycleBody(1, { removals: [removal('g', 1)] }),
      cycleBody(2, posts(2, [1])),
      cycleBody(3, { removals: [removal('g', 1)] }),
    ])
    expect([1, 2, 3, 4].map((position) => firstNeeded(store, position))).toEqual([1, 2, 3, 4])
  })

  test('with the cycle itself if nothing was pending', async () => {
    const { store } = await served([cycleBody(0), cycleBody(1)])
    expect(firstNeeded(store, 2)).toBe(2)
  })
})

function first(): CycleRequest {
  return cycleBody(0, { candidates: [candidate('g', 1)], engagement: [reading('g', 1, cycleMs(0))] })
}

/** A store after these cycles, and the model that scored them. */
async function served(cycles: readonly CycleRequest[]): Promise<{ store: Store; model: FakeModel }> {
  const model = new FakeModel()
  const store = memoryStore({ contents: createMemoryContents() })
  const service = await CycleService.open({
    store,
    model: () => model,
    clock: () => cycleMs(1000),
    limits: () => ({ clockSkewMs: 2000, cyclesWaitingMax: 4 }),
    textEncodeMsMax: 1000,
    initialWeights: { version: 'initial', weights },
    log: silentLog,
  })
  for (const cycle of cycles)
    await service.intake.submit(new RequestBody(bytesOf(cycle)), cycleMs(1000), new StageClock(0))
  return { store, model }
}

async function scoresOf({ plan, inputState }: ReplayedCycle): Promise<number[]> {
  if (plan.scoring.count === 0) return []
  const inputs: ModelInputs = { ...plan.scoring, ...inputState, text: null, image: null }
  const heads = await new FakeModel().predict(inputs)
  return [...scoreRows(heads, weights, plan.scoring.count)]
}

function storedScores(store: Store, { cycle_id }: CycleRequest): number[] {
  const response = JSON.parse(Buffer.from(store.readResponse(cycle_id) ?? []).toString()) as CycleResponse
  return response.results.flatMap((result) =>
    result.status === 'scored' ? [Math.fround(result.score!)] : [],
  )
}

/** Everything that a model may look at, row by row: slots of a replay may be others. */
function rowsOf(inputs: CyclePlan['scoring']): object[] {
  const { cycleAtMs, galleries, gallery, posts, engagement, previous, snapshot } = inputs
  return Array.from({ length: inputs.count }, (_, row) => {
    const slot = inputs.slots[row]!
    const at = inputs.readings[row]!
    return {
      cycleAtMs,
      gallId: galleries[gallery[slot]!],
      posts: valuesAt(posts, slot),
      title: valuesAt(posts.title, slot),
      body: valuesAt(posts.body, slot),
      observed: [engagement.observedAtMs[at], engagement.observedAtFraction[at]],
      counters: counterNames.map((name) => engagement[name][at]),
      before: [previous.observedAtMs[slot], ...counterNames.map((name) => previous[name][slot])],
      snapshot: [snapshot.snapshotAtMs[slot], ...snapshotNames.map((name) => snapshot[name][slot])],
    }
  })
}

function valuesAt(columns: object, slot: number): unknown[] {
  return Object.entries(columns)
    .filter(([, column]) => ArrayBuffer.isView(column))
    .map(([name, column]) => [name, (column as Float64Array)[slot]])
}
