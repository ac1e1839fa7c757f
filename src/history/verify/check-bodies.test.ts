/** What `check` says of a body is what the service answers. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bytesOf, candidate, cycleBody, cycleMs, reading, removal } from '../../../test/helpers/bodies.js'
import { serviceParts } from '../../../test/helpers/cycle-service.js'
import { FakeModel } from '../../../test/helpers/fake-model.js'
import {
  ServiceError,
  type CycleRequest,
  type CycleResponse,
  type FieldProblem,
} from '../../contract/index.js'
import { CycleService, RequestBody, StageClock } from '../../cycle/index.js'
import { createMemoryStore, type Store } from '../../store/index.js'
import { BodyChecker, type CycleEffect } from './check-bodies.js'

/** Cycles 4 and 5 are in the future. */
const nowMs = cycleMs(3) + 1000
const limits = { clockSkewMs: 2000, pendingPostsMax: 4, cyclesWaitingMax: 4 }
const initialWeights = { version: 'initial', weights: { views: 1, comments: 1, up: 1, downvote_share: 0 } }

async function serviceOf(store: Store): Promise<CycleService> {
  const model = new FakeModel()
  return CycleService.open(
    serviceParts({ model: () => model, store, limits: () => limits, clock: () => nowMs, initialWeights }),
  )
}

const checkerOf = (store: Store): Promise<BodyChecker> => BodyChecker.open({ nowMs, store, ...limits })

/** What both sides say of a body. */
interface Answer {
  readonly status: number
  readonly code: string | null
  readonly fields: readonly FieldProblem[] | null
  /** Of a cycle: the counts of its response, and its warnings. */
  readonly counts: object | null
  readonly warnings: readonly string[] | null
}

function refusalOf(error: unknown): Answer {
  if (!(error instanceof ServiceError)) throw error
  const { code, fields } = error.toRecord().error
  return { status: error.status, code, fields: fields ?? null, counts: null, warnings: null }
}

const accepted = { status: 200, code: null, fields: null }

async function served(service: CycleService, body: Body): Promise<Answer> {
  try {
    if (body.kind === 'weights') {
      await service.setWeights({ note: '', ...body.value })
      return { ...accepted, counts: null, warnings: null }
    }
    const { position } = service.pool
    const response = await service.intake.submit(new RequestBody(body.json), nowMs, new StageClock(0))
    // A repeat has the response of its cycle, which was compared then.
    if (service.pool.position === position) return { ...accepted, counts: null, warnings: null }
    const { counts, warnings } = JSON.parse(Buffer.from(response).toString()) as CycleResponse
    return { ...accepted, counts, warnings: warnings.filter((line) => !line.includes('trained')) }
  } catch (error) {
    return refusalOf(error)
  }
}

async function checked(checker: BodyChecker, body: Body): Promise<Answer> {
  try {
    const json = body.kind === 'weights' ? bytesOf(body.value) : body.json
    const effect = await checker.check(json, body.kind)
    if (effect.kind !== 'cycle' || effect.change === null)
      return { ...accepted, counts: null, warnings: null }
    return { ...accepted, counts: countsOf(effect, effect.change), warnings: effect.change.warnings }
  } catch (error) {
    return refusalOf(error)
  }
}

function countsOf(
  { candidates, engagement, candidate_scores, removals }: CycleEffect,
  { scored, waiting, not_scored }: NonNullable<CycleEffect['change']>,
): object {
  return {
    candidates,
    engagement,
    candidate_scores,
    removals,
    scored_now: scored.length,
    waiting: waiting.length,
    not_scored: not_scored.length,
    results: scored.length + waiting.length + not_scored.length,
  }
}

type Body =
  | { readonly kind: 'cycle'; readonly json: Uint8Array }
  | {
      readonly kind: 'weights'
      readonly value: { readonly version: string; readonly weights: typeof initialWeights.weights }
    }

const posts = fc.uniqueArray(fc.integer({ min: 1, max: 6 }), { maxLength: 4 })
const cycle = fc
  .record({ index: fc.nat(5), entering: posts, read: posts, leaving: posts, other: fc.nat(9) })
  .map(({ index, entering, read, leaving, other }) => {
    const value: CycleRequest = cycleBody(index, {
      candidates: entering.map((post) => candidate('g', post)),
      engagement: read.map((post) => reading('g', post, cycleMs(index))),
      removals: leaving.map((post) => removal('g', post)),
    })
    if (other === 0) return Buffer.from('{"cycle_id"')
    if (other === 1) return bytesOf({ ...value, cycle_time: '2024-03-01T00:02:00+09:00' })
    if (other === 2) return bytesOf({ ...value, engagement: [{ gall_id: 'g' }] })
    if (other === 3)
      return bytesOf({ ...value, engagement: read.map((post) => reading('g', post, cycleMs(9))) })
    return Buffer.from(JSON.stringify(value, null, other === 4 ? 1 : 0))
  })
const body: fc.Arbitrary<Body> = fc.oneof(
  { arbitrary: cycle.map((json): Body => ({ kind: 'cycle', json })), weight: 6 },
  {
    arbitrary: fc
      .record({ version: fc.constantFrom('initial', 'a', 'b'), views: fc.nat(1) })
      .map(({ version, views }): Body => {
        return {
          kind: 'weights',
          value: { version, weights: { views, comments: 0, up: 0, downvote_share: 0 } },
        }
      }),
    weight: 1,
  },
)

test('of any bodies in any order, whether the cycles before them are stored or were checked before', () =>
  fc.assert(
    fc.asyncProperty(fc.array(body, { maxLength: 12 }), fc.nat(12), async (bodies, storedCount) => {
      const store = createMemoryStore()
      const service = await serviceOf(store)
      for (const one of bodies.slice(0, storedCount)) await served(service, one)
      const rest = bodies.slice(storedCount)
      // The same body again, as a client that retries sends it, and the first one of all.
      const again = [...rest.slice(-1), ...bodies.slice(0, 1)]
      const checker = await checkerOf(store)
      const said: Answer[] = []
      for (const one of [...rest, ...again]) said.push(await checked(checker, one))
      const answered: Answer[] = []
      for (const one of [...rest, ...again]) answered.push(await served(service, one))
      expect(said).toEqual(answered)
    }),
    { numRuns: 150 },
  ))

test('a stored cycle is a repeat or a conflict, whatever the clock and the times of the body say', async () => {
  const store = createMemoryStore()
  const service = await serviceOf(store)
  await served(service, { kind: 'cycle', json: bytesOf(cycleBody(0)) })
  const early = await BodyChecker.open({ ...limits, nowMs: cycleMs(-10), store })
  expect(await early.check(bytesOf(cycleBody(0)), 'cycle')).toMatchObject({ effect: 'repeat', change: null })
  const other = bytesOf({ ...cycleBody(0), cycle_time: '2024-03-01T00:02:00+09:00' })
  await expect(early.check(other, 'cycle')).rejects.toMatchObject({
    status: 409,
    fields: [{ path: 'cycle_time' }],
  })
})
