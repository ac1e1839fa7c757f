/** The figures of placements equal an independent implementation on random outcome records. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bytesOf } from '../../../test/helpers/bodies.js'
import { expectFigures } from '../../../test/helpers/expect-figures.js'
import type { Outcome } from '../../contract/index.js'
import { outcomeFigures } from './outcomes.js'

const startMs = Date.UTC(2026, 2, 1)
const hour = 3_600_000
const instant = fc
  .integer({ min: 0, max: 100 })
  .map((hours) => new Date(startMs + hours * hour).toISOString())
const counter = fc.option(fc.integer({ min: 0, max: 5 }))
const ages = [1, 6, 24, 48] as const
const counters = ['views', 'up', 'down', 'comment_cnt'] as const

const outcome: fc.Arbitrary<Outcome> = fc
  .record(
    {
      placed_at: instant,
      hidden_at: fc.option(instant),
      deleted_at: fc.option(instant),
      picked_by: fc.constantFrom<Outcome['picked_by']>(
        { type: 'operator' },
        { type: 'operator', model_version: 'm1' },
        { type: 'model', model_version: 'm1', weights_version: 'w', cycle_id: '20260301T0000' },
        { type: 'model', model_version: 'm2', weights_version: 'w', cycle_id: '20260301T0000' },
      ),
      score_at_placement: fc.option(fc.integer({ min: 0, max: 4 }).map((value) => value / 4)),
      readings: fc.array(
        fc.record({
          age_h: fc.constantFrom(...ages),
          observed_at: instant,
          views: counter,
          up: counter,
          down: counter,
          comment_cnt: counter,
        }),
        { maxLength: 6 },
      ),
    },
    { requiredKeys: ['placed_at', 'picked_by'] },
  )
  .map((parts) => ({ placement_id: 'p', gall_id: 'g', post_no: 1, tier: 'main', ...parts }))

function middle(values: readonly number[]): number | null {
  const sorted = [...values].sort((a, b) => a - b)
  const half = sorted.length / 2
  return half === 0 ? null : ((sorted[Math.ceil(half) - 1] ?? 0) + (sorted[Math.floor(half)] ?? 0)) / 2
}

/** Pearson's correlation of average ranks. */
function rankCorrelation(pairs: readonly (readonly [number, number])[]): number | null {
  const ranks = [0, 1].map((side) =>
    pairs.map((pair) => {
      const below = pairs.filter((other) => (other[side] ?? 0) < (pair[side] ?? 0)).length
      const equal = pairs.filter((other) => other[side] === pair[side]).length
      return below + (equal + 1) / 2
    }),
  )
  const [a = [], b = []] = ranks.map((values) => {
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length
    return values.map((value) => value - mean)
  })
  const product = (x: readonly number[], y: readonly number[]): number =>
    x.reduce((sum, value, row) => sum + value * (y[row] ?? 0), 0)
  const scale = Math.sqrt(product(a, a) * product(b, b))
  return scale > 0 ? product(a, b) / scale : null
}

function naive(all: readonly Outcome[], fromMs: number, toMs: number): object {
  const inRange = all.filter(({ placed_at }) => {
    const ms = Date.parse(placed_at)
    return ms >= fromMs && ms <= toMs
  })
  // The last of several readings at one age.
  const readingOf = ({ readings = [] }: Outcome, age: number) =>
    readings.filter(({ age_h }) => age_h === age).at(-1)
  const byAge = (
    some: readonly Outcome[],
    figure: (name: (typeof counters)[number], age: number) => number | null,
  ): object[] =>
    ages.map((age) => ({
      age_h: age,
      n: some.filter((each) => readingOf(each, age) !== undefined).length,
      ...Object.fromEntries(counters.map((name) => [name, figure(name, age)])),
    }))
  const pickers = [
    ['operator', null],
    ['model', 'm1'],
    ['model', 'm2'],
  ] as const
  const scored = inRange.filter(({ score_at_placement: score = null }) => score !== null)
  return {
    placements: inRange.length,
    by_picker: pickers.flatMap(([picked_by, model_version]) => {
      const some = inRange.filter(
        ({ picked_by: by }) =>
          by.type === picked_by && (by.type === 'operator' || by.model_version === model_version),
      )
      const share = (name: 'hidden_at' | 'deleted_at'): number =>
        some.filter((each) => (each[name] ?? null) !== null).length / some.length
      const figure = (name: (typeof counters)[number], age: number): number | null =>
        middle(some.flatMap((each) => readingOf(each, age)?.[name] ?? []))
      if (some.length === 0) return []
      return [
        {
          picked_by,
          model_version,
          placements: some.length,
          hidden_share: share('hidden_at'),
          deleted_share: share('deleted_at'),
          ages: byAge(some, figure),
        },
      ]
    }),
    score_correlation: byAge(scored, (name, age) =>
      rankCorrelation(
        scored.flatMap((each) => {
          const value = readingOf(each, age)?.[name] ?? null
          return value === null ? [] : [[each.score_at_placement ?? NaN, value] as const]
        }),
      ),
    ),
  }
}

test('the figures of placements equal an independent implementation', () => {
  fc.assert(
    fc.property(fc.array(outcome, { maxLength: 25 }), fc.integer({ min: -1, max: 60 }), (outcomes, from) => {
      const range = { fromMs: startMs + from * hour, toMs: startMs + 90 * hour }
      const entries = outcomes.map((each) => ({ placementId: 'p', record: bytesOf(each), arrivedAtMs: 0 }))
      const figures = outcomeFigures(entries, range)
      const expected = naive(outcomes, range.fromMs, range.toMs) as typeof figures
      const order = (each: (typeof figures.by_picker)[number]): string =>
        `${each.picked_by} ${each.model_version}`
      const sorted = ({ by_picker, ...rest }: typeof figures): object => ({
        ...rest,
        by_picker: [...by_picker].sort((a, b) => (order(a) < order(b) ? -1 : 1)),
      })
      expectFigures(sorted(figures), sorted(expected))
      expect(Object.keys(figures)).toEqual(Object.keys(expected))
    }),
    { numRuns: 300 },
  )
})

test('the operators come first, and of the models the last by name', () => {
  const by = (picked_by: Outcome['picked_by']): Outcome => ({
    placement_id: 'p',
    gall_id: 'g',
    post_no: 1,
    tier: 'main',
    placed_at: new Date(startMs).toISOString(),
    picked_by,
  })
  const model = (model_version: string): Outcome =>
    by({ type: 'model', model_version, weights_version: 'w', cycle_id: '20260301T0000' })
  const entries = [model('m1'), by({ type: 'operator' }), model('m2')].map((each) => ({
    placementId: 'p',
    record: bytesOf(each),
    arrivedAtMs: 0,
  }))
  const { by_picker } = outcomeFigures(entries, { fromMs: startMs, toMs: startMs })
  expect(by_picker.map(({ picked_by, model_version }) => model_version ?? picked_by)).toEqual([
    'operator',
    'm2',
    'm1',
  ])
})
