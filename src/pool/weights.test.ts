/** Weights: which are in force, what setting them does, and the score. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { missingHeads, planWeights, scoreRows, weightsInForce, type WeightsSetting } from './weights.js'

type WeightsHistory = readonly WeightsSetting[]

const weights = (views: number) => ({ views, comments: 0, up: 0, downvote_share: 0 })
const minute = 60_000

function set(
  history: WeightsHistory,
  version: string,
  views: number,
  nowMs: number,
  newestCycleMs = -Infinity,
) {
  const plan = planWeights(history, { version, weights: weights(views), note: '' }, nowMs, newestCycleMs)
  return plan.kind === 'appended' ? [...history, plan.setting] : plan.kind
}

const initial: WeightsHistory = [
  { version: 'initial', weights: weights(1), note: '', setAtMs: 0, firstCycleMs: 0 },
]

describe('setting weights', () => {
  test('takes effect at the first boundary after now and after the newest stored cycle', () => {
    expect((set(initial, 'a', 2, 7 * minute) as WeightsHistory).at(-1)?.firstCycleMs).toBe(10 * minute)
    expect((set(initial, 'a', 2, 10 * minute) as WeightsHistory).at(-1)?.firstCycleMs).toBe(15 * minute)
    expect((set(initial, 'a', 2, 7 * minute, 10 * minute) as WeightsHistory).at(-1)?.firstCycleMs).toBe(
      15 * minute,
    )
  })

  test('again with the same weights changes nothing, with others is a conflict, even for an older version', () => {
    const history = set(initial, 'a', 2, minute) as WeightsHistory
    expect(set(history, 'a', 2, 9 * minute)).toBe('unchanged')
    expect(set(history, 'a', 3, 9 * minute)).toBe('conflict')
    expect(set(history, 'initial', 3, 9 * minute)).toBe('conflict')
  })

  test.each(['views', 'comments', 'up', 'downvote_share'] as const)(
    'of a known version to another %s is a conflict',
    (name) => {
      const request = { version: 'initial', weights: { ...weights(1), [name]: 2 }, note: '' }
      expect(planWeights(initial, request, minute, -Infinity)).toEqual({ kind: 'conflict', used: weights(1) })
    },
  )

  test('to an older version rolls back from the next boundary', () => {
    const there = set(initial, 'a', 2, minute) as WeightsHistory
    const back = set(there, 'initial', 1, 6 * minute) as WeightsHistory
    expect([4, 5, 9, 10].map((at) => weightsInForce(back, at * minute)?.version)).toEqual([
      'initial',
      'a',
      'a',
      'initial',
    ])
  })
})

test('of several settings for one boundary the last applies', () => {
  const history = set(set(initial, 'a', 2, minute) as WeightsHistory, 'b', 3, 2 * minute) as WeightsHistory
  expect(weightsInForce(history, 5 * minute)?.version).toBe('b')
  expect(weightsInForce(history, 4 * minute)?.version).toBe('initial')
})

test('the first setting also applies to earlier cycles', () => {
  const [late] = (set(initial, 'a', 2, minute) as WeightsHistory).slice(1) as [WeightsSetting]
  expect(weightsInForce([late], 5 * minute)).toBe(late)
  expect(weightsInForce([late], 0)).toBe(late)
  expect(weightsInForce([], 0)).toBeUndefined()
})

test('a score is the weighted sum of the available heads, as float32', () => {
  const share = fc.float({ min: 0, max: 1, noNaN: true })
  const weight = fc.double({ min: 0, max: 100, noNaN: true })
  fc.assert(
    fc.property(share, share, share, share, weight, weight, weight, weight, (v, c, u, d, wv, wc, wu, wd) => {
      const heads = {
        p_views: Float32Array.of(v),
        p_comments: Float32Array.of(c),
        p_up: Float32Array.of(u),
        downvote_share: Float32Array.of(d),
      }
      const w = { views: wv, comments: wc, up: wu, downvote_share: wd }
      expect(scoreRows(heads, w, 1)[0]).toBe(Math.fround(wv * v + wc * c + wu * u - wd * d))
      expect(scoreRows({ ...heads, p_up: null }, w, 1)[0]).toBe(Math.fround(wv * v + wc * c - wd * d))
    }),
  )
})

test('a missing head is reported if it has a weight', () => {
  const heads = { p_views: Float32Array.of(1), p_comments: null, p_up: null, downvote_share: null }
  const w = { views: 1, comments: 0, up: 0.5, downvote_share: 2 }
  expect(missingHeads(heads, w)).toEqual(['p_up', 'downvote_share'])
})
