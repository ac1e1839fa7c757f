/**
 * Every figure of a report equals an independent implementation on random histories: posts that come back, late cycles,
 * ties, nulls, waiting rows, a change of version, windows without cycles.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { candidate, cycleBody, cycleMs, reading, removal } from '../../../test/helpers/bodies.js'
import { expectFigures } from '../../../test/helpers/expect-figures.js'
import { naiveReport } from '../../../test/helpers/naive-evaluation.js'
import { headsOf, naiveCycles, responseOf, served, twin } from '../../../test/helpers/served-history.js'
import type { CycleRequest } from '../../contract/index.js'
import { cycleTables, packRows } from '../../records/index.js'
import { createMemoryStore } from '../../store/index.js'
import { evaluate } from './evaluate.js'

const runCount = Number(process.env['EVALUATION_RUNS'] ?? 80)
/** Bounds the runs after a failure, so that the test ends with its counterexample, however slow the machine is. */
const shrinkCountMax = 200
const timeoutMs = 30_000 + (runCount + shrinkCountMax) * 100

const minute = 60_000
const gallId = fc.constantFrom('g', 'h')
const postNo = fc.integer({ min: 1, max: 6 })
const counter = fc.option(fc.integer({ min: 0, max: 4 }), { freq: 6 })
const instant = (ms: number): string => new Date(ms).toISOString()
const timeNear = (index: number): fc.Arbitrary<string> =>
  fc.constantFrom(-6, -5, -2, 0, 1, 3, 5, 7).map((minutes) => instant(cycleMs(index) + minutes * minute))

/** A cycle at boundary `index`. */
const cycleAt = (index: number): fc.Arbitrary<CycleRequest> =>
  fc
    .record({
      candidates: fc.array(
        fc
          .record({
            gallId,
            postNo,
            title: fc.constantFrom('제목', '제목', '제목', ''),
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
            gallId,
            postNo,
            views: counter,
            up: counter,
            comment_cnt: counter,
            rtb_vote: counter,
            status: fc.constantFrom('ok', 'ok', 'ok', 'missing'),
          })
          .map(({ gallId, postNo, ...over }) => reading(gallId, postNo, cycleMs(index), over as object)),
        { minLength: 4, maxLength: 14 },
      ),
      removals: fc.array(
        fc
          .record({
            gallId,
            postNo,
            decided_at: timeNear(index),
            tier: fc.constantFrom('main', 'night'),
            reason: fc.constantFrom('saved', 'saved', 'saved', 'hidden', 'deleted', 'aged_out'),
          })
          .map(({ gallId, postNo, ...over }) => removal(gallId, postNo, over as object)),
        { maxLength: 3 },
      ),
    })
    .map((parts) => cycleBody(index, parts))

/** Further days follow from mean, interval and verdict. */
function expectFurtherDays(report: object): void {
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
    const isClear = verdict !== 'cannot be told apart'
    // The half-width shrinks with the root of the number of days.
    const days = window.days * ((high - low) / 2 / Math.abs(mean)) ** 2
    const further = mean === 0 ? null : Math.max(1, Math.ceil(days - window.days))
    expect(more_days).toBe(isClear ? 0 : further)
  }
}

interface RandomHistory {
  readonly cycles: readonly CycleRequest[]
  /** Boundaries between two places of the window: 1, or a third or half of a day, so that the history has many days. */
  readonly step: number
}

const indexes = fc.uniqueArray(fc.integer({ min: 0, max: 16 }), { minLength: 1, maxLength: 10 })
const history = (isInOrder: boolean): fc.Arbitrary<RandomHistory> =>
  fc.limitShrink(
    fc.tuple(indexes, fc.constantFrom(1, 97, 145)).chain(([list, step]) =>
      fc.record({
        cycles: fc.tuple(
          ...(isInOrder ? list.sort((a, b) => a - b) : list).map((index) => cycleAt(index * step)),
        ),
        step: fc.constant(step),
      }),
    ),
    shrinkCountMax,
  )

test(
  'equals an independent implementation over whole histories, with late cycles',
  () =>
    fc.assert(
      fc.asyncProperty(history(false), async (random) => {
        const store = await served(random.cycles)
        const report = evaluate(store)
        expectFigures(report, naiveReport(naiveCycles(random, store)))
        expectFurtherDays(report)
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
        async (random, from, length) => {
          const store = await served(random.cycles)
          const [fromMs, toMs] = [from, from + length].map((index) => cycleMs(index * random.step))
          const options = { fromMs: fromMs!, toMs: toMs! }
          const report = evaluate(store, options)
          expectFigures(report, naiveReport(naiveCycles(random, store), options))
        },
      ),
      { numRuns: runCount },
    ),
  timeoutMs,
)

/**
 * Four cycles a day, two of them around midnight in Korea. Each brings four posts and saves two: one that was decided before
 * the last midnight of the window so far, and one after it.
 */
function daysOfSaves(days: number): RandomHistory {
  const cycles: CycleRequest[] = []
  const boundaries = Array.from({ length: days }, (_, day) => [1, 100, 200, 287].map((of) => day * 288 + of))
  for (const [number, index] of boundaries.flat().entries()) {
    const posts = Array.from({ length: 4 }, (_, i) => 4 * number + i)
    const pending = Array.from({ length: 12 }, (_, i) => 4 * number + 3 - i).filter((post) => post >= 0)
    const saved = pending.filter((post) => post % 4 < 2 && Math.floor(post / 4) === number - 1)
    cycles.push(
      cycleBody(index, {
        candidates: posts.map((post) => candidate('g', post + 1, { extracted_at: instant(cycleMs(index)) })),
        engagement: pending.map((post) =>
          reading('g', post + 1, cycleMs(index), {
            views: (post * 37 + number * 11) % 100,
            comment_cnt: (post * 7 + number) % 5,
          }),
        ),
        removals: saved.map((post, i) =>
          removal('g', post + 1, {
            reason: 'saved',
            tier: 'main',
            // The first minute after the cycle before, or the last one before this cycle.
            decided_at: instant(
              i === 0 ? cycleMs(index) - minute : Date.parse(cycles.at(-1)?.cycle_time ?? '') + minute,
            ),
          }),
        ),
      }),
    )
  }
  return { cycles, step: 1 }
}

test.each([
  [4, 'cycle'],
  [5, 'day'],
  [9, 'day'],
])('a window with saves on %d Korean days draws by the %s', async (days, unit) => {
  const random = daysOfSaves(days)
  const store = await served(random.cycles)
  const report = evaluate(store)
  expect(report).toMatchObject({ window: { unit, days } })
  expectFigures(report, naiveReport(naiveCycles(random, store)))
})

test('in pools larger than each depth, a post at the depth counts, and one below does not', async () => {
  const postNos = Array.from({ length: 120 }, (_, i) => i + 1)
  const wide = (index: number, saved: readonly number[], kept: readonly number[]): CycleRequest =>
    cycleBody(index, {
      candidates: index === 0 ? postNos.map((postNo) => candidate('g', postNo)) : [],
      // By `up`, a post's number is its rank; by views, three posts share one.
      engagement: kept.map((postNo) =>
        reading('g', postNo, cycleMs(index), {
          views: 300 - Math.ceil(postNo / 3),
          comment_cnt: 0,
          up: 300 - postNo,
        }),
      ),
      removals: saved.map((postNo) =>
        removal('g', postNo, { reason: 'saved', tier: 'main', decided_at: instant(cycleMs(index) - minute) }),
      ),
    })
  const saved = [1, 10, 11, 50, 51, 100, 101]
  const cycles = [
    wide(0, [], postNos),
    wide(
      1,
      saved,
      postNos.filter((postNo) => !saved.includes(postNo)),
    ),
  ]
  const random = { cycles, step: 1 }
  const store = await served(cycles)
  const report = evaluate(store)
  const byUp = report.rankers.find(({ name }) => name === 'up')
  expect(byUp?.saved_in_top).toEqual({ 10: 2 / 7, 50: 4 / 7, 100: 6 / 7 })
  expectFigures(report, naiveReport(naiveCycles(random, store)))
})

test('the version that served every cycle is not compared with itself, unless that is asked for', async () => {
  const post = candidate('g', 1)
  const one = [cycleBody(0, { candidates: [post], engagement: [reading('g', 1, cycleMs(0), { views: 1 })] })]
  const store = await served(one)
  const [version = ''] = evaluate(store).window.versions[0]?.split(' / ') ?? []
  const names = (ranksServed: boolean): string[] =>
    evaluate(store, { versions: [version, twin], ranksServed }).rankers.map(({ name }) => name)
  expect(names(false).filter((name) => name.startsWith('shadow:'))).toEqual([`shadow:${twin}`])
  expect(names(true).filter((name) => name.startsWith('shadow:'))).toEqual([
    `shadow:${version}`,
    `shadow:${twin}`,
  ])
})

test('a version that served some of the cycles is compared with the model, and versions with each other', async () => {
  const cycles = Array.from({ length: 5 }, (_, index) =>
    cycleBody(index, {
      candidates: index === 0 ? [candidate('g', 1)] : [],
      engagement: [reading('g', 1, cycleMs(index))],
    }),
  )
  // The last one is scored by fake-2.
  const { rankers, differences } = evaluate(await served(cycles), { versions: ['fake-2', twin] })
  const scored = Object.fromEntries(rankers.map((ranker) => [ranker.name, ranker.cycles]))
  expect(scored).toMatchObject({ model: 5, 'shadow:fake-2': 1, [`shadow:${twin}`]: 4 })
  const pairs = differences.map(({ a, b }) => `${a} ${b}`)
  expect(pairs).toEqual(
    expect.arrayContaining(['model shadow:fake-2', `model shadow:${twin}`, `shadow:fake-2 shadow:${twin}`]),
  )
})

test('each of three versions is compared with the model, with each order by one counter, and with the others', async () => {
  const one = [cycleBody(0, { candidates: [candidate('g', 1)], engagement: [reading('g', 1, cycleMs(0))] })]
  const versions = ['v-1', 'v-2', 'v-3']
  const { rankers, differences } = evaluate(await served(one), { versions })
  const shadows = versions.map((version) => `shadow:${version}`)
  const baselines = rankers
    .map(({ name }) => name)
    .filter((name) => name !== 'model' && !shadows.includes(name))
  expect(baselines.length).toBeGreaterThan(2)
  const [first, second, third] = shadows
  expect(differences.map(({ a, b }) => `${a} ${b}`).sort()).toEqual(
    [
      ...[...shadows, ...baselines].map((b) => `model ${b}`),
      ...shadows.flatMap((a) => baselines.map((b) => `${a} ${b}`)),
      ...[`${first} ${second}`, `${first} ${third}`, `${second} ${third}`],
    ].sort(),
  )
})

/** Each cycle saves the post that the model ranks higher, after the first one, which brings the first two. */
function agreeingCycles(saves: number): RandomHistory {
  const cycles = Array.from({ length: saves + 1 }, (_, index) => {
    const [high, low] = [2 * index + 1, 2 * index + 2]
    return cycleBody(index, {
      candidates: [high, low].map((post) => candidate('g', post)),
      engagement: [high, low].map((post) =>
        reading('g', post, cycleMs(index), { comment_cnt: post === high ? 9 : 1, up: post === high ? 1 : 9 }),
      ),
      removals:
        index === 0
          ? []
          : [
              removal('g', high - 2, {
                reason: 'saved',
                tier: 'main',
                decided_at: instant(cycleMs(index) - minute),
              }),
            ],
    })
  })
  return { cycles, step: 1 }
}

test.each([
  [1, 'cannot be told apart', 1],
  [4, 'cannot be told apart', 1],
  [5, 'better', 0],
])('a verdict needs saves of five cycles, however clear they are: after %d', async (saves, verdict, days) => {
  const random = agreeingCycles(saves)
  const store = await served(random.cycles)
  const report = evaluate(store)
  const against = report.differences.find(({ a, b }) => a === 'model' && b === 'up')
  expect(against).toMatchObject({ n: saves, verdict, more_days: days })
  expect(Math.min(...(against?.ci95 ?? []))).toBeGreaterThan(0)
  expectFigures(report, naiveReport(naiveCycles(random, store)))
})

test('shadows are in the order of their names, whichever scored first', async () => {
  const cycles = Array.from({ length: 2 }, (_, index) =>
    cycleBody(index, {
      candidates: index === 0 ? [candidate('g', 1)] : [],
      engagement: [reading('g', 1, cycleMs(index))],
    }),
  )
  const store = await served(cycles)
  const [first, second] = cycles.map((cycle) =>
    packRows(cycleTables.heads, headsOf(responseOf(store, cycle))),
  )
  await store.models.putShadowScores(1, 'shadow-b', first!)
  await store.models.putShadowScores(2, 'shadow-a', second!)
  const names = evaluate(store).rankers.map(({ name }) => name)
  expect(names.filter((name) => name.startsWith('shadow:shadow-'))).toEqual([
    'shadow:shadow-a',
    'shadow:shadow-b',
  ])
})

test('the hash of a report is that of the cycle that arrived last, also if it was late', async () => {
  const late = cycleBody(0)
  const store = await served([cycleBody(1), late])
  const { hash } = store.hashes(2)!
  expect(evaluate(store).window.last_hash).toEqual({ cycle_id: late.cycle_id, hash })
})

test('a report names the 20 visits that waited longest for their first score', async () => {
  const candidates = Array.from({ length: 21 }, (_, i) =>
    candidate('g', i + 1, { extracted_at: instant(cycleMs(0) - (i + 2) * 5 * minute) }),
  )
  const engagement = candidates.map(({ post_no }) => reading('g', post_no, cycleMs(0)))
  const { late, worst } = evaluate(await served([cycleBody(0, { candidates, engagement })])).first_score
  expect(late).toBe(21)
  expect(worst.map(({ post_no }) => post_no)).toEqual(Array.from({ length: 20 }, (_, i) => 21 - i))
})

test('an empty store has a report of nulls and zeros', () => {
  const report = evaluate(createMemoryStore())
  expect(report).toMatchObject({
    window: { from: null, to: null, cycles: 0, days: 0 },
    visits: { total: 0, saved: 0 },
    rankers: Array.from({ length: 7 }, () => ({ rank_percentile: { mean: null, n: 0, ci95: null } })),
    first_score: { on_time: 0, share: null },
    outcomes: { placements: 0, by_picker: [] },
  })
})
