/** Cases at the boundaries of the rules on time: equal instants, the cycle's own time, microseconds, seven days. */
import { expect, test } from 'vitest'
import { candidate, cycleBody, cycleMs, reading, removal, snapshot } from '../../test/helpers/bodies.js'
import { columnsOf } from '../../test/helpers/columns.js'
import { formatInstant, warningText, type CycleRequest } from '../contract/index.js'
import type { CyclePlan } from './plan.js'
import { Pool } from './pool.js'

const enter = cycleBody(0, { candidates: [candidate('g', 1)] })

/** Plans of `cycles`, each published before the next. */
function run(...cycles: readonly CycleRequest[]): CyclePlan[] {
  const pool = new Pool()
  return cycles.map((cycle, i) => {
    const plan = pool.plan(columnsOf(cycle), i + 1)
    pool.publish(plan)
    return plan
  })
}

/** Views of the reading before the one that is scored, for the first post; NaN without one. */
const viewsBefore = (plan: CyclePlan | undefined): number | undefined => plan?.scoring.previous.views[0]
/** `hit_cnt` of the snapshot that the first post is scored with; NaN without one. */
const hits = (plan: CyclePlan | undefined): number | undefined => plan?.scoring.snapshot.hit_cnt[0]

const withReading = (index: number, observed_at: string, views: number): CycleRequest =>
  cycleBody(index, { engagement: [reading('g', 1, 0, { observed_at, views })] })
const withSnapshot = (
  index: number,
  atMs: number,
  hit_cnt: number,
  snapshot_at = formatInstant(atMs),
): CycleRequest =>
  cycleBody(index, {
    engagement: [reading('g', 1, cycleMs(index))],
    candidate_scores: [snapshot('g', 1, atMs, { hit_cnt, snapshot_at })],
  })

test('a reading of the same instant in a later cycle replaces the reading, and is not its own predecessor', () => {
  const at = formatInstant(cycleMs(1) - 1000)
  const later = formatInstant(cycleMs(3))
  const plans = run(enter, withReading(1, at, 100), withReading(2, at, 200), withReading(3, later, 300))
  expect(viewsBefore(plans[1])).toBeNaN()
  expect(viewsBefore(plans[2])).toBeNaN()
  expect(viewsBefore(plans[3])).toBe(200)
})

test('a late reading of the same instant as the second-latest replaces it, and is not its own predecessor', () => {
  const at = formatInstant(cycleMs(1) - 1000)
  const plans = run(
    enter,
    withReading(1, at, 100),
    withReading(2, formatInstant(cycleMs(2)), 200),
    withReading(3, at, 300),
  )
  expect(viewsBefore(plans[3])).toBeNaN()
  expect(plans[3]?.next.previous.views[0]).toBe(300)
  expect(plans[3]?.next.latest.views[0]).toBe(200)
})

test('readings a microsecond apart are two readings, in their order', () => {
  const second = formatInstant(cycleMs(1) - 1000).slice(0, -1)
  const first = withReading(1, `${second}000Z`, 100)
  const after = withReading(2, `${second}001Z`, 200)
  expect(viewsBefore(run(enter, first, after)[2])).toBe(100)
  // The same readings with the cycles in reverse: the older one has no predecessor and becomes the previous one.
  const plans = run(
    enter,
    { ...after, ...idOf(1) },
    { ...first, ...idOf(2) },
    withReading(3, formatInstant(cycleMs(3)), 300),
  )
  expect(viewsBefore(plans[2])).toBeNaN()
  expect(plans[2]?.next.latest.views[0]).toBe(200)
  expect(plans[2]?.next.previous.views[0]).toBe(100)
  expect(viewsBefore(plans[3])).toBe(200)
})

function idOf(index: number): Pick<CycleRequest, 'cycle_id' | 'cycle_time'> {
  const { cycle_id, cycle_time } = cycleBody(index)
  return { cycle_id, cycle_time }
}

test('a snapshot of exactly the cycle_time of a late cycle is used for it, one a microsecond later is not', () => {
  const late = cycleBody(2, { engagement: [reading('g', 1, cycleMs(2))] })
  expect(hits(run(enter, withSnapshot(3, cycleMs(2), 7), late)[2])).toBe(7)
  const microsecondLater = formatInstant(cycleMs(2)).replace('000Z', '000001Z')
  const plan = run(enter, withSnapshot(3, cycleMs(2), 7, microsecondLater), late)[2]
  expect(hits(plan)).toBeNaN()
  // It stays the latest one for the cycles to come.
  expect(plan?.next.snapshot.hit_cnt[0]).toBe(7)
  const lateByMicroseconds = { ...late, cycle_time: microsecondLater }
  expect(hits(run(enter, withSnapshot(3, cycleMs(2), 7, microsecondLater), lateByMicroseconds)[2])).toBe(7)
})

test('a snapshot of the same instant in a later cycle replaces the kept one', () => {
  const at = cycleMs(1) - 1000
  expect(hits(run(enter, withSnapshot(1, at, 7), withSnapshot(2, at, 8))[2])).toBe(8)
})

test('an older snapshot in a later cycle does not replace the kept one, and is not used', () => {
  const [older, newer] = [cycleMs(1) - 2000, cycleMs(1) - 1000]
  const plan = run(enter, withSnapshot(1, newer, 7), withSnapshot(2, older, 8))[2]
  expect(hits(plan)).toBe(7)
  expect(plan?.next.snapshot.hit_cnt[0]).toBe(7)
  // Older by a microsecond, within a millisecond.
  const second = formatInstant(newer).slice(0, -1)
  const plans = run(
    enter,
    withSnapshot(1, newer, 7, `${second}001Z`),
    withSnapshot(2, newer, 8, `${second}000Z`),
  )
  expect(hits(plans[2])).toBe(7)
})

test('an older snapshot of a late cycle is used for it if the kept one is from after its time, which stays', () => {
  const late = withSnapshot(2, cycleMs(2) - 1000, 8)
  const plan = run(enter, withSnapshot(3, cycleMs(3), 7), late)[2]
  expect(hits(plan)).toBe(8)
  expect(plan?.next.snapshot.hit_cnt[0]).toBe(7)
})

test('a cycle without a snapshot of a post is scored with the kept one', () => {
  const without = cycleBody(2, { engagement: [reading('g', 1, cycleMs(2))] })
  expect(hits(run(enter, withSnapshot(1, cycleMs(1), 7), without)[2])).toBe(7)
})

test.each([
  ['exactly seven days after its removal is ignored', 604_800_000, []],
  ['seven days and a cycle after its removal is of an unknown post', 605_100_000, [0]],
])('engagement of a post %s', (_title, ageMs, unknownRows) => {
  const index = 1 + ageMs / 300_000
  const engagement = [reading('g', 1, cycleMs(index))]
  const cycles = [enter, cycleBody(1, { removals: [removal('g', 1)] }), cycleBody(index)]
  // A tombstone expires when a cycle is published, so the one after it shows whether it did.
  const last = run(...cycles, cycleBody(index, { engagement })).at(-1)
  expect(last?.unknownRows).toEqual(unknownRows)
  expect(last?.warnings.map(warningText)).toEqual(
    unknownRows.length > 0 ? [] : ['engagement of a removed post, left out (1): g/1'],
  )
})

test('a post without one of its two clocks is not scored', () => {
  const complete = candidate('g', 1)
  for (const [created_at, extracted_at, scored] of [
    [complete.created_at, complete.extracted_at, 1],
    [null, complete.extracted_at, 0],
    [complete.created_at, null, 0],
  ] as const) {
    const entering = cycleBody(0, {
      candidates: [{ ...complete, created_at, extracted_at }],
      engagement: [reading('g', 1, cycleMs(0))],
    })
    expect(run(entering)[0]?.scoring.count).toBe(scored)
  }
})
