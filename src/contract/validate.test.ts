/** Failing paths: their order and number. */
import { describe, expect, test } from 'vitest'
import { candidate, cycleBody, reading, removal, snapshot } from '../../test/helpers/bodies.js'
import { isDateTime } from './time.js'
import { checkCycle, checkOutcomes, checkWeights } from './validate.js'

const paths = (body: unknown): string[] => checkCycle(body)?.fields.map((field) => field.path) ?? []

function completeCycle() {
  return cycleBody(0, {
    candidates: [1, 2, 3].map((n) => candidate('g', n, { image_positions: [1, 3] })),
    engagement: [1, 2, 3].map((n) => reading('g', n, 0)),
    candidate_scores: [1, 2, 3].map((n) => snapshot('g', n, 0, { hit_cnt_m: 1 })),
    removals: [removal('g', 9, { reason: 'saved', tier: 'main' })],
  })
}

describe('a cycle body', () => {
  test('that is complete has no problems', () => {
    expect(checkCycle(completeCycle())).toBeNull()
  })

  test('that is not an object fails at the path ""', () => {
    for (const body of [null, 1, 'x', true, [], [{}]]) expect(paths(body)).toEqual([''])
  })

  test('names every failing path in document order, missing members last', () => {
    const body = completeCycle() as unknown as Record<string, Record<string, unknown>[]>
    body.removals![0]!.reason = 'gone'
    body.engagement![1]!.views = -1
    body.engagement![1]!.rtb_vote = 'x'
    delete body.engagement![1]!.up
    body.candidates![2]!.image_positions = [1, 0, 'x']
    const reordered = Object.fromEntries(Object.entries(body).reverse())
    delete reordered.cycle_time
    expect(paths(reordered)).toEqual([
      'removals[0].reason',
      'engagement[1].views',
      'engagement[1].rtb_vote',
      'engagement[1].up',
      'candidates[2].image_positions[1]',
      'candidates[2].image_positions[2]',
      'cycle_time',
    ])
  })

  test('requires a tier of saved removals only', () => {
    const body = completeCycle()
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

  test('refuses an array, null and a string as rows', () => {
    const body = { ...completeCycle(), engagement: [reading('g', 1, 0), [], null, 'x'] }
    expect(paths(body)).toEqual(['engagement[1]', 'engagement[2]', 'engagement[3]'])
  })

  test('with a list that is too long has one problem, and its rows are not checked', () => {
    const body = { ...completeCycle(), engagement: Array.from({ length: 5001 }, () => ({})) }
    expect(paths(body)).toEqual(['engagement'])
  })

  test('with a list of exactly the maximum length and one invalid row has the problem of this row', () => {
    const engagement = Array.from({ length: 5000 }, (_, n) => reading('g', n + 1, 0))
    expect(checkCycle({ ...completeCycle(), engagement })).toBeNull()
    engagement[4999] = reading('g', 5000, 0, { views: -1 })
    expect(paths({ ...completeCycle(), engagement })).toEqual(['engagement[4999].views'])
  })

  test('lists 100 problems and counts the others', () => {
    const body = {
      ...completeCycle(),
      engagement: Array.from({ length: 150 }, (_, n) => reading('g', n + 1, 0, { views: -1 })),
    }
    const problems = checkCycle(body)
    expect(problems?.fields).toHaveLength(100)
    expect(problems?.toError('invalid_cycle').message).toBe(
      'the body is not a valid cycle; 50 more problems are not listed',
    )
    body.engagement.length = 101
    expect(checkCycle(body)?.toError('invalid_cycle').message).toBe(
      'the body is not a valid cycle; 1 more problem is not listed',
    )
  })

  test('names every invalid image position, and duplicates only if all positions are valid', () => {
    const problemsOf = (positions: unknown[]): unknown => {
      const body = completeCycle()
      body.candidates[1]!.image_positions = positions as number[]
      return checkCycle(body)?.fields.map(({ path, problem }) => `${path.slice(14)} ${problem}`)
    }
    const range = 'must be an integer from 1 to 9007199254740991'
    expect(problemsOf([1, 1, 'x'])).toEqual([`image_positions[2] ${range}`])
    expect(problemsOf([0, 0])).toEqual([`image_positions[0] ${range}`, `image_positions[1] ${range}`])
    expect(problemsOf([4, 2, 3, 2])).toEqual(['image_positions must not name an item twice'])
    expect(problemsOf([3, 1, 2])).toBeUndefined()
  })

  test('gets an example for an invalid date-time, and the limit for one that is too long', () => {
    const rule = 'must be an RFC 3339 date-time that exists, with an explicit offset, such as '
    const problemOf = (cycle_time: unknown) =>
      checkCycle({ ...completeCycle(), cycle_time })?.fields[0]?.problem
    for (const time of ['2026-03-02T12:10:00+0900', '2026-02-30T12:10:00+09:00', '2026-03-02T12:10:60Z', 5])
      expect(problemOf(time)).toBe(`${rule}2026-03-02T12:05:00+09:00`)
    expect(isDateTime('2026-03-02T12:05:00+09:00')).toBe(true)
    expect(problemOf(`2026-03-02T12:10:00.${'0'.repeat(128)}Z`)).toBe(
      'must not have more than 128 characters',
    )
  })

  test('refuses integers that a double cannot hold, and accepts 2^53-1', () => {
    const body = completeCycle()
    body.engagement[0]!.views = 2 ** 53 - 1
    expect(checkCycle(body)).toBeNull()
    for (const views of [2 ** 53, 1e300, Infinity, 0.5, NaN]) {
      body.engagement[0]!.views = views
      expect(paths(body), String(views)).toEqual(['engagement[0].views'])
    }
  })

  const withRow = (list: string, change: object) => {
    const body = completeCycle() as unknown as Record<string, object[]>
    return { ...body, [list]: [{ ...body[list]?.[0], ...change }] }
  }
  test.each([
    ['engagement', 'post_no', 1, 0],
    ['engagement', 'views', 0, -1],
    ['engagement', 'status', 'nomap', 'gone'],
    ['candidate_scores', 'upimg_height', 32_767, 32_768],
    ['candidates', 'image_positions', [1], [0]],
    ['candidates', 'manual_flag', 1, 2],
    ['candidates', 'manual_flag', 0, '0'],
    ['engagement', 'status', 'ok', ['ok']],
    ['candidates', 'source', 'vote', 'votes'],
    ['candidates', 'gallery_type', 'mini', 'micro'],
    ['removals', 'tier', 'app', 'best'],
    ['removals', 'reason', 'aged_out', 'expired'],
  ])('accepts in %s.%s the last valid value, %j, and refuses %j', (list, member, valid, invalid) => {
    expect(checkCycle(withRow(list, { [member]: valid }))).toBeNull()
    expect(paths(withRow(list, { [member]: invalid }))[0]).toMatch(`${list}[0].${member}`)
  })

  test('is checked by own members: a member named __proto__ is an unknown one', () => {
    const body = JSON.parse(
      JSON.stringify(completeCycle()).replace('"candidates"', '"__proto__":{"candidates":5},"candidates"'),
    ) as unknown
    expect(checkCycle(body)).toBeNull()
  })
})

describe('a hostile body is refused with bounded work:', () => {
  const outcome = {
    placement_id: 'p',
    gall_id: 'g',
    post_no: 1,
    tier: 'main',
    placed_at: '2012-01-01T00:00:00Z',
    picked_by: { type: 'operator' },
  }
  const ascending = Array.from({ length: 300_000 }, (_, index) => index + 1)
  const withPositions = (image_positions: unknown): unknown => ({
    ...completeCycle(),
    candidates: [{ ...candidate('g', 1), image_positions }],
  })

  test('a long list of image positions with an invalid one', () => {
    expect(paths(withPositions([null, ...ascending]))).toEqual(['candidates[0].image_positions[0]'])
  })

  test('a long list of image positions with a duplicate', () => {
    expect(checkCycle(withPositions([...ascending, 7]))?.fields).toEqual([
      { path: 'candidates[0].image_positions', problem: 'must not name an item twice' },
    ])
    expect(checkCycle(withPositions(ascending.toReversed()))).toBeNull()
  })

  test('the problems of a long list in one row are all counted, and the first 100 listed', () => {
    const readings = Array.from({ length: 300_000 }, () => ({}))
    const problems = checkOutcomes({ outcomes: [{ ...outcome, readings }, {}] })
    expect(problems?.count).toBe(300_000 * 6 + 6)
    expect(problems?.fields).toHaveLength(100)
    expect(problems?.fields.slice(5, 8).map((field) => field.path)).toEqual([
      'outcomes[0].readings[0].comment_cnt',
      'outcomes[0].readings[1].age_h',
      'outcomes[0].readings[1].observed_at',
    ])
    expect(problems?.toError('invalid_outcomes').message).toBe(
      'the body does not list valid outcomes; 1799906 more problems are not listed',
    )
  })

  test('a row of very many unknown members', () => {
    const unknown = Object.fromEntries(ascending.map((n) => [`m${n}`, []]))
    expect(paths({ ...completeCycle(), removals: [{ ...unknown, ...removal('g', 1), gall_id: 1 }] })).toEqual(
      ['removals[0].gall_id'],
    )
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

describe('a text', () => {
  const outcome = (change: object) => ({
    placement_id: 'p',
    gall_id: 'g',
    post_no: 1,
    tier: 'main',
    placed_at: '2012-01-01T00:00:00Z',
    picked_by: { type: 'operator' },
    ...change,
  })
  const weights = { views: 1, comments: 0, up: 0, downvote_share: 0 }
  const post = (gallId: string) => ({ ...completeCycle(), candidates: [candidate(gallId, 1)] })
  const reading = (gallId: string) => ({
    ...completeCycle(),
    engagement: [{ ...completeCycle().engagement[0], gall_id: gallId }],
  })
  const snapshot = (gallId: string) => ({
    ...completeCycle(),
    candidate_scores: [{ ...completeCycle().candidate_scores[0], gall_id: gallId }],
  })
  const removed = (change: object) => ({ ...completeCycle(), removals: [removal('g', 1, change)] })
  const pickedBy = (change: object) => ({
    outcomes: [outcome({ picked_by: { type: 'operator', ...change } })],
  })

  type BodyOf = (text: string) => unknown
  const names: [path: string, check: typeof checkCycle, bodyOf: BodyOf][] = [
    ['candidates[0].gall_id', checkCycle, post],
    ['engagement[0].gall_id', checkCycle, reading],
    ['candidate_scores[0].gall_id', checkCycle, snapshot],
    ['removals[0].gall_id', checkCycle, (gall_id) => removed({ gall_id })],
    ['outcomes[0].gall_id', checkOutcomes, (gall_id) => ({ outcomes: [outcome({ gall_id })] })],
    [
      'outcomes[0].placement_id',
      checkOutcomes,
      (placement_id) => ({ outcomes: [outcome({ placement_id })] }),
    ],
    ['version', checkWeights, (version) => ({ version, weights })],
  ]
  const labels: typeof names = [
    ['removals[0].reason_code', checkCycle, (reason_code) => removed({ reason_code })],
    ['outcomes[0].tier', checkOutcomes, (tier) => ({ outcomes: [outcome({ tier })] })],
    ['outcomes[0].picked_by.model_version', checkOutcomes, (model_version) => pickedBy({ model_version })],
    [
      'outcomes[0].picked_by.weights_version',
      checkOutcomes,
      (weights_version) => pickedBy({ weights_version }),
    ],
  ]

  test.each([
    ...[...names, ...labels].map((row) => [...row, 1024] as const),
    ['note', checkWeights, (note: string) => ({ version: 'v', weights, note }), 10_000] as const,
  ])('at %s is counted in code points, and refused beyond its limit', (path, check, bodyOf, charsMax) => {
    for (const character of ['a', '가', '😀']) {
      for (const count of [charsMax - 1, charsMax]) expect(check(bodyOf(character.repeat(count)))).toBeNull()
      expect(check(bodyOf(character.repeat(charsMax + 1)))?.fields).toEqual([
        { path, problem: `must not have more than ${charsMax} characters` },
      ])
    }
    expect(check(bodyOf('x'.repeat(16_000_000)))?.fields[0]?.path).toBe(path)
  })

  test.each(names)('at %s is refused with half of a surrogate pair', (path, check, bodyOf) => {
    for (const half of ['\ud800', '\udfff', 'a\ud83d', '\ude00\ud83d'])
      expect(check(bodyOf(half))?.fields).toEqual([
        { path, problem: 'must be Unicode text, without half of a surrogate pair' },
      ])
    expect(check(bodyOf(''))?.fields).toEqual([{ path, problem: 'must not be empty' }])
  })
})
