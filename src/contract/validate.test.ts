/** Failing paths: which, in which order, how many. */
import { describe, expect, test } from 'vitest'
import { candidate, cycleBody, reading, removal, snapshot } from '../../test/helpers/bodies.js'
import { checkCycle, checkOutcomes, checkWeights } from './validate.js'

const paths = (body: unknown): string[] => checkCycle(body)?.fields.map((field) => field.path) ?? []

function rich() {
  return cycleBody(0, {
    candidates: [1, 2, 3].map((n) => candidate('g', n, { image_positions: [1, 3] })),
    engagement: [1, 2, 3].map((n) => reading('g', n, 0)),
    candidate_scores: [1, 2, 3].map((n) => snapshot('g', n, 0, { hit_cnt_m: 1 })),
    removals: [removal('g', 9, { reason: 'saved', tier: 'main' })],
  })
}

describe('a cycle body', () => {
  test('that is complete has no problems', () => {
    expect(checkCycle(rich())).toBeNull()
  })

  test('that is no object has the path ""', () => {
    for (const body of [null, 1, 'x', true, [], [{}]]) expect(paths(body)).toEqual([''])
  })

  test('names every failing path in document order, missing members last', () => {
    const body = rich() as unknown as Record<string, Record<string, unknown>[]>
    body.removals![0]!.reason = 'gone'
    body.engagement![1]!.views = -1
    body.engagement![1]!.rtb_vote = 'x'
    delete body.engagement![1]!.up
    body.candidates![2]!.image_positions = [1, 0, 'x']
    const turned = Object.fromEntries(Object.entries(body).reverse())
    delete turned.cycle_time
    expect(paths(turned)).toEqual([
      'removals[0].reason',
      'engagement[1].views',
      'engagement[1].rtb_vote',
      'engagement[1].up',
      'candidates[2].image_positions[1]',
      'candidates[2].image_positions[2]',
      'cycle_time',
    ])
  })

  test('asks for a tier of saved removals only', () => {
    const body = rich()
    const row = body.removals[0] as unknown as Record<string, unknown>
    delete row.tier
    expect(checkCycle(body)?.fields).toEqual([
      { path: 'removals[0].tier', problem: 'is required when reason is saved' },
    ])
    row.reason = 'hidden'
    expect(checkCycle(body)).toBeNull()
    row.tier = 'gold'
    expect(paths(body)).toEqual(['removals[0].tier'])
  })

  test('takes rows for what they are: an array is no row', () => {
    const body = { ...rich(), engagement: [reading('g', 1, 0), [], null, 'x'] }
    expect(paths(body)).toEqual(['engagement[1]', 'engagement[2]', 'engagement[3]'])
  })

  test('with a list that is too long has one problem there, and its rows are not looked at', () => {
    const body = { ...rich(), engagement: Array.from({ length: 5001 }, () => ({})) }
    expect(paths(body)).toEqual(['engagement'])
  })

  test('lists 100 problems and counts the others', () => {
    const body = {
      ...rich(),
      engagement: Array.from({ length: 150 }, (_, n) => reading('g', n + 1, 0, { views: -1 })),
    }
    const problems = checkCycle(body)
    expect(problems?.fields).toHaveLength(100)
    expect(problems?.toError('bad_request', 'no').message).toContain('50 more')
  })

  test('refuses integers that a double cannot hold, and takes 2^53-1', () => {
    const body = rich()
    body.engagement[0]!.views = 2 ** 53 - 1
    expect(checkCycle(body)).toBeNull()
    for (const views of [2 ** 53, 1e300, Infinity, 0.5, NaN]) {
      body.engagement[0]!.views = views
      expect(paths(body), String(views)).toEqual(['engagement[0].views'])
    }
  })

  test('is checked by own members: a row named __proto__ does no harm', () => {
    const body = JSON.parse(
      JSON.stringify(rich()).replace('"candidates"', '"__proto__":{"candidates":5},"candidates"'),
    ) as unknown
    expect(checkCycle(body)).toBeNull()
  })
})

test('an outcome picked by a model needs model, weights and cycle', () => {
  const outcome = {
    placement_id: 'p',
    gall_id: 'g',
    post_no: 1,
    tier: 'main',
    placed_at: '2012-01-01T00:00:00Z',
    picked_by: { type: 'model' },
  }
  expect(checkOutcomes({ outcomes: [outcome] })?.fields.map((f) => f.path)).toEqual(
    ['model_version', 'weights_version', 'cycle_id'].map((name) => `outcomes[0].picked_by.${name}`),
  )
  expect(checkOutcomes({ outcomes: [{ ...outcome, picked_by: { type: 'operator' } }] })).toBeNull()
  expect(checkOutcomes({ outcomes: [{ ...outcome, picked_by: [] }] })?.fields[0]?.path).toBe(
    'outcomes[0].picked_by',
  )
})

test('weights must be finite and not negative', () => {
  const weights = { views: 1, comments: 0, up: 0, downvote_share: 0 }
  expect(checkWeights({ version: 'v', weights })).toBeNull()
  for (const views of [-0.1, Infinity, '1', null]) {
    expect(checkWeights({ version: 'v', weights: { ...weights, views } })?.fields.map((f) => f.path)).toEqual(
      ['weights.views'],
    )
  }
})
