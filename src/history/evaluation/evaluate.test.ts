/**
 * Every figure of a report equals an independent implementation on random histories: posts that come back, late cycles,
 * ties, nulls, waiting rows, a change of version, windows without cycles.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bytesOf, candidate, cycleBody, cycleMs, reading, removal } from '../../../test/helpers/bodies.js'
import { expectFigures } from '../../../test/helpers/expect-figures.js'
import { FakeModel } from '../../../test/helpers/fake-model.js'
import { naiveReport, type NaiveCycle } from '../../../test/helpers/naive-evaluation.js'
import { referenceCodec as codec } from '../../codec/index.js'
import type { CycleRequest, CycleResponse } from '../../contract/index.js'
import { CycleService, StageClock } from '../../cycle/index.js'
import { createMemoryStore, type Store } from '../../store/index.js'
import { evaluate } from './evaluate.js'
import { reportJson } from './report-json.js'

const runCount = Number(process.env['EVALUATION_RUNS'] ?? 80)
const timeoutMs = 30_000 + runCount * 100

const minute = 60_000
const gallId = fc.constantFrom('g', 'h')
const postNo = fc.integer({ min: 1, max: 6 })
const counter = fc.option(fc.integer({ min: 0, max: 4 }), { freq: 6 })
const instant = (ms: number): string => new Date(ms).toISOString()
const timeNear = (index: number): fc.Arbitrary<string> =>
  fc.constantFrom(-6, -5, -2, 0, 1, 3, 5, 7).map((minutes) => instant(cycleMs(index) + minutes * minute))

const cycleAt = (index: number): fc.Arbitrary<CycleRequest> =>
  fc
    .record({
      candidates: fc.array(
        fc
          .record({
            ...{ gallId, postNo, title: fc.constantFrom('제목', '제목', '제목', '') },
            created_at: fc.option(
              fc.constantFrom(1, 2, 3).map((h) => instant(cycleMs(0) - h * 60 * minute)),
              {
                freq: 8,
              },
            ),
            extracted_at: fc.option(timeNear(index), { freq: 8 }),
            source: fc.constantFrom('score', 'vote'),
            gallery_type: fc.constantFrom('main', 'mini'),
          })
          .map(({ gallId, postNo, ...over }) => candidate(gallId, postNo, over as object)),
        { maxLength: 5 },
      ),
      engagement: fc.array(
        fc
          .record({
            ...{ gallId, postNo, views: counter, up: counter, comment_cnt: counter, rtb_vote: counter },
            status: fc.constantFrom('ok', 'ok', 'ok', 'missing'),
          })
          .map(({ gallId, postNo, ...over }) => reading(gallId, postNo, cycleMs(index), over as object)),
        { minLength: 4, maxLength: 14 },
      ),
      removals: fc.array(
        fc
          .record({
            ...{ gallId, postNo, decided_at: timeNear(index), tier: fc.constantFrom('main', 'night') },
            reason: fc.constantFrom('saved', 'saved', 'saved', 'hidden', 'deleted', 'aged_out'),
          })
          .map(({ gallId, postNo, ...over }) => removal(gallId, postNo, over as object)),
        { maxLength: 3 },
      ),
    })
    .map((parts) => cycleBody(index, parts))

/** Verdicts and further days follow from mean and interval. */
function expectVerdicts(report: object): void {
  const { window, differences } = report as {
    window: { days: number }
    differences: {
      mean: number | null
      ci95: [number, number] | null
      verdict: string | null
      more_days: number | null
    }[]
  }
  for (const { mean, ci95, verdict, more_days } of differences) {
    if (mean === null || ci95 === null) {
      expect([verdict, more_days]).toEqual([null, null])
      continue
    }
    const [low, high] = ci95
    const isClear = low > 0 || high < 0
    expect(verdict).toBe(isClear ? (low > 0 ? 'better' : 'worse') : 'cannot be told apart')
    // The half-width shrinks with the root of the number of days.
    const days = window.days * ((high - low) / 2 / Math.abs(mean)) ** 2
    const further = mean === 0 ? null : Math.max(1, Math.ceil(days - window.days))
    expect(more_days).toBe(isClear ? 0 : further)
  }
}

const indexes = fc.uniqueArray(fc.integer({ min: 0, max: 16 }), { minLength: 1, maxLength: 10 })
const history = (isInOrder: boolean): fc.Arbitrary<CycleRequest[]> =>
  indexes.chain((list) =>
    fc.tuple(...(isInOrder ? list.sort((a, b) => a - b) : list).map((index) => cycleAt(index))),
  )

async function served(cycles: readonly CycleRequest[]): Promise<Store> {
  const store = createMemoryStore()
  let model = new FakeModel()
  const service = await CycleService.open({
    ...{ codec, store, model: () => model, textEncodeMsMax: 1000, clock: () => cycleMs(1000) },
    limits: () => ({ clockSkewMs: 2000, cyclesWaitingMax: 4 }),
    initialWeights: { version: 'initial', weights: { views: 1, comments: 0.5, up: 0, downvote_share: 0 } },
    log: { warn: () => undefined, error: () => undefined },
  })
  for (const [place, cycle] of cycles.entries()) {
    if (place === 4) model = Object.assign(new FakeModel(), { version: 'fake-2' })
    await service.submit({ json: bytesOf(cycle), gzip: null }, cycleMs(1000), new StageClock(0))
  }
  await service.close()
  return store
}

function naiveCycles(cycles: readonly CycleRequest[], store: Store): NaiveCycle[] {
  return cycles.map((request) => ({
    request,
    response: JSON.parse(Buffer.from(store.readResponse(request.cycle_id)!).toString()) as CycleResponse,
  }))
}

test(
  'equals an independent implementation over whole histories, with late cycles',
  () =>
    fc.assert(
      fc.asyncProperty(history(false), async (cycles) => {
        const store = await served(cycles)
        const report = reportJson(evaluate(store, { draws: 20 }))
        expectFigures(report, naiveReport(naiveCycles(cycles, store)))
        expectVerdicts(report)
      }),
      { numRuns: runCount },
    ),
  timeoutMs,
)

test.each([
  ['cycles in order', true],
  ['late cycles', false],
])(
  'equals an independent implementation over windows, %s',
  (_, isInOrder) =>
    fc.assert(
      fc.asyncProperty(
        history(isInOrder),
        fc.integer({ min: 0, max: 18 }),
        fc.integer({ min: 0, max: 18 }),
        async (cycles, from, length) => {
          const store = await served(cycles)
          const [fromMs, toMs] = [cycleMs(from), cycleMs(from + length)]
          const report = reportJson(evaluate(store, { draws: 20, fromMs, toMs }))
          expectFigures(report, naiveReport(naiveCycles(cycles, store), fromMs, toMs))
        },
      ),
      { numRuns: runCount },
    ),
  timeoutMs,
)

test('an empty store has a report of nulls and zeros', () => {
  const report = reportJson(evaluate(createMemoryStore()))
  expect(report).toMatchObject({
    window: { from: null, to: null, cycles: 0, days: 0 },
    visits: { total: 0, saved: 0 },
    rankers: Array.from({ length: 7 }, () => ({ rank_percentile: { mean: null, n: 0, ci95: null } })),
    first_score: { on_time: 0, share: null },
    outcomes: { placements: 0, by_picker: [] },
  })
})
