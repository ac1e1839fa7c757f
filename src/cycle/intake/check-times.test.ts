/** Times of a cycle: on the grid, not in the future, and no row later than the cycle, to the last digit. */
import { expect, test } from 'vitest'
import { cycleBody, cycleMs, reading, snapshot } from '../../../test/helpers/bodies.js'
import { columnsOf } from '../../../test/helpers/columns.js'
import { futureProblem, type CycleRequest, type FieldProblem } from '../../contract/index.js'
import { checkTimes } from './check-times.js'

const skewMs = 2000

function problemsOf(cycle: CycleRequest, nowMs = cycleMs(0)): readonly FieldProblem[] {
  return checkTimes(columnsOf(cycle), { nowMs, skewMs })?.fields ?? []
}

/** The first cycle of the tests, with a time of its own. */
const at = (cycle_time: string): CycleRequest => ({ ...cycleBody(0), cycle_time })

test('a cycle may be ahead of the clock by the allowed skew and not by more', () => {
  expect(problemsOf(cycleBody(0), cycleMs(0) - skewMs)).toEqual([])
  expect(problemsOf(cycleBody(0), cycleMs(0) - skewMs - 1)).toEqual([
    { path: 'cycle_time', problem: futureProblem },
  ])
})

test.each([
  [1, 1],
  [1000, 1],
  [1001, 2],
  [86_400_000, 86_400],
])('a cycle that is %i ms too early is accepted after %i seconds', (earlyMs, retryAfterS) => {
  const nowMs = cycleMs(0) - skewMs - earlyMs
  const refusal = (nowMs: number): number | undefined =>
    checkTimes(columnsOf(cycleBody(0)), { nowMs, skewMs })?.retryAfterS
  expect(refusal(nowMs)).toBe(retryAfterS)
  expect(problemsOf(cycleBody(0), nowMs + retryAfterS * 1000)).toEqual([])
})

test('a cycle with a problem that time does not mend is not accepted later', () => {
  const cycle = cycleBody(0, { engagement: [reading('g', 1, cycleMs(1))] })
  for (const nowMs of [0, cycleMs(2)])
    expect(checkTimes(columnsOf(cycle), { nowMs, skewMs })).toMatchObject({
      status: 422,
      retryAfterS: undefined,
    })
  const offBoundary = columnsOf(at('2024-03-01T00:01:00+09:00'))
  expect(checkTimes(offBoundary, { nowMs: 0, skewMs })?.retryAfterS).toBeUndefined()
})

test('a cycle is on a five-minute boundary, to the last digit', () => {
  const problem = 'must be on a five-minute boundary'
  const later = cycleMs(10)
  for (const time of ['2024-03-01T00:00:01+09:00', '2024-03-01T00:00:00.0000001+09:00'])
    expect(problemsOf(at(time), later), time).toContainEqual({ path: 'cycle_time', problem })
  expect(problemsOf(at('2024-03-01T00:00:00.000+09:00'), later)).toEqual([])
})

test('a cycle of the future that time does not mend has that problem too', () => {
  const future = { path: 'cycle_time', problem: futureProblem }
  const offBoundary = { path: 'cycle_time', problem: 'must be on a five-minute boundary' }
  expect(problemsOf(at('2024-03-01T00:01:00+09:00'), 0)).toEqual(
    expect.arrayContaining([future, offBoundary]),
  )
  const cycle = cycleBody(0, { engagement: [reading('g', 1, cycleMs(1))] })
  expect(problemsOf(cycle, 0)).toEqual([
    future,
    { path: 'engagement[0].observed_at', problem: 'must not be later than cycle_time' },
  ])
})

test('the id of a cycle is its time in Korea', () => {
  const cycle = { ...cycleBody(0), cycle_id: '20240301T0005' }
  expect(problemsOf(cycle)).toEqual([
    { path: 'cycle_id', problem: `must be cycle_time in KST, ${cycleBody(0).cycle_id}` },
  ])
})

test('no reading and no snapshot is later than the cycle, not even by a part of a millisecond', () => {
  const [before, same] = [cycleMs(0) - 1, cycleMs(0)].map((ms) => new Date(ms).toISOString())
  const barely = same!.replace('Z', '0001Z')
  const after = new Date(cycleMs(0) + 1).toISOString()
  const times = [before!, after, same!, barely]
  const cycle = cycleBody(0, {
    engagement: times.map((observed_at, index) => ({ ...reading('g', index + 1, cycleMs(0)), observed_at })),
    candidate_scores: times.map((snapshot_at, index) => ({
      ...snapshot('g', index + 1, cycleMs(0)),
      snapshot_at,
    })),
  })
  const problem = 'must not be later than cycle_time'
  expect(problemsOf(cycle)).toEqual(
    expect.arrayContaining([
      { path: 'engagement[1].observed_at', problem },
      { path: 'engagement[3].observed_at', problem },
      { path: 'candidate_scores[1].snapshot_at', problem },
      { path: 'candidate_scores[3].snapshot_at', problem },
    ]),
  )
  expect(problemsOf(cycle)).toHaveLength(4)
})

test('problems come in the order of the body', () => {
  const { cycle_id, cycle_time, ...lists } = cycleBody(0, { engagement: [reading('g', 1, cycleMs(1))] })
  const wrong = { cycle_id: '20240301T0005', cycle_time }
  const paths = (cycle: CycleRequest): string[] => problemsOf(cycle).map(({ path }) => path)
  expect(paths({ ...wrong, ...lists })).toEqual(['cycle_id', 'engagement[0].observed_at'])
  expect(paths({ ...lists, ...wrong })).toEqual(['engagement[0].observed_at', 'cycle_id'])
  expect(cycle_id).not.toBe(wrong.cycle_id)
})
