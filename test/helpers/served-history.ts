/**
 * A history in a store, as the service makes it from requests, and the same history for the independent implementation of a
 * report.
 */
import type { CycleRequest, CycleResponse, HeadColumns } from '../../src/contract/index.js'
import { CycleService, RequestBody, StageClock } from '../../src/cycle/index.js'
import type { ScoringInputs } from '../../src/pool/index.js'
import { cycleTables, packRows, type CycleRows } from '../../src/records/index.js'
import { createMemoryStore, type Store } from '../../src/store/index.js'
import { bytesOf } from './bodies.js'
import { serviceParts } from './cycle-service.js'
import { FakeModel } from './fake-model.js'
import type { NaiveCycle } from './naive-evaluation.js'

/** Heads that differ, so that the weights decide about the order. */
class TwoHeads extends FakeModel {
  override async predict(inputs: ScoringInputs): Promise<HeadColumns> {
    const heads = await super.predict(inputs)
    const { comment_cnt } = inputs.engagement
    const p_comments = Float32Array.from(inputs.readings, (row) => (comment_cnt[row]! % 5) / 5 || 0)
    return { ...heads, p_comments }
  }
}

/** The name of the shadow. */
export const twin = 'twin'
/** Of every third cycle, the shadow `twin` has no scores. */
const hasTwin = (position: number): boolean => position % 3 !== 0

/** The model and the weights change on the way. The shadow `twin` has the heads of the serving model. */
export async function served(cycles: readonly CycleRequest[]): Promise<Store> {
  const store = createMemoryStore()
  let model: FakeModel = new TwoHeads()
  let nowMs = 0
  const weights = { views: 1, comments: 0.5, up: 0, downvote_share: 0 }
  const service = await CycleService.open(
    serviceParts({
      store,
      model: () => model,
      clock: () => nowMs,
      initialWeights: { version: 'initial', weights },
    }),
  )
  for (const [place, cycle] of cycles.entries()) {
    if (place === 4) model = Object.assign(new TwoHeads(), { version: 'fake-2' })
    nowMs = Date.parse(cycle.cycle_time)
    await service.intake.submit(new RequestBody(bytesOf(cycle)), nowMs, new StageClock(0))
    // From the next boundary on.
    if (place === 2)
      await service.setWeights({
        version: 'comments',
        note: '',
        weights: { views: 0, comments: 1, up: 0, downvote_share: 0 },
      })
    const { position } = store.findCycle(cycle.cycle_id)!
    const packed = packRows(cycleTables.heads, headsOf(responseOf(store, cycle)))
    if (hasTwin(position)) await store.models.putShadowScores(position, twin, packed)
  }
  await service.close()
  return store
}

export function responseOf(store: Store, { cycle_id }: CycleRequest): CycleResponse {
  return JSON.parse(Buffer.from(store.readResponse(cycle_id)!).toString()) as CycleResponse
}

export function headsOf({ results }: CycleResponse): CycleRows<'heads'> {
  const scored = results.filter(({ status }) => status === 'scored')
  const column = (name: 'p_views' | 'p_comments'): Float32Array =>
    Float32Array.from(scored, (row) => row[name] ?? NaN)
  return {
    count: scored.length,
    p_views: column('p_views'),
    p_comments: column('p_comments'),
    p_up: null,
    downvote_share: null,
  }
}

export function naiveCycles(
  { cycles }: { readonly cycles: readonly CycleRequest[] },
  store: Store,
): NaiveCycle[] {
  return cycles.map((request, index) => {
    const response = responseOf(store, request)
    const scores = response.results.flatMap(({ score }) => score ?? [])
    return { request, response, shadows: hasTwin(index + 1) ? { [twin]: scores } : {} }
  })
}
