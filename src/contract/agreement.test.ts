/** The checks, which typia decides, `findProblems`, and the schemas of the OpenAPI document agree on every body. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { candidate, cycleBody, reading, removal, snapshot } from '../../test/helpers/bodies.js'
import { newAjv, validatorOf } from '../../test/helpers/openapi-responses.js'
import { findProblems, hasDuplicates } from './find-problems.js'
import { Problems } from './problems.js'
import { cycleShape, outcomesShape, weightsShape, type ObjectShape } from './shape.js'
import { isDateTime } from './time.js'
import { checkCycle, checkOutcomes, checkWeights } from './validate.js'

const bodies: readonly { type: string; shape: ObjectShape; check: typeof checkCycle; body: object }[] = [
  {
    type: 'CycleRequest',
    shape: cycleShape,
    check: checkCycle,
    body: cycleBody(0, {
      candidates: [
        candidate('g', 1, {
          image_positions: [3, 1, 2],
          body_html: '<p>',
          gallery_type: 'mini',
          category_id: -1,
        }),
        candidate('g', 2),
      ],
      engagement: [reading('g', 1, 0, { views: null })],
      candidate_scores: [snapshot('g', 1, 0, { hit_cnt_m: 1, upimg_height: 32767 })],
      removals: [removal('g', 9, { reason: 'saved', tier: 'main', reason_code: 'x' })],
    }),
  },
  {
    type: 'OutcomesRequest',
    shape: outcomesShape,
    check: checkOutcomes,
    body: {
      outcomes: [
        {
          placement_id: 'p',
          gall_id: 'g',
          post_no: 1,
          tier: 'main',
          placed_at: '2012-01-01T00:00:00Z',
          picked_by: { type: 'model', model_version: 'm', weights_version: 'w', cycle_id: '20240301T0000' },
          score_at_placement: 0.5,
          views_at_placement: 3,
          readings: [
            { age_h: 6, observed_at: '2012-01-01T06:00:00Z', views: 1, up: null, down: 2, comment_cnt: 3 },
          ],
          hidden_at: null,
        },
      ],
    },
  },
  {
    type: 'WeightsRequest',
    shape: weightsShape,
    check: checkWeights,
    body: { version: 'v', weights: { views: 1, comments: 0.5, up: 0, downvote_share: 0 }, note: '' },
  },
]

/** Values that are valid for some members and invalid for others. */
const value = fc.oneof(
  fc.constantFrom<unknown>(
    ...[
      null,
      true,
      '',
      'x',
      'model',
      'operator',
      'saved',
      'hidden',
      'ok',
      'main',
      '20240301T0000',
      '20240301T00000',
    ],
    ...['2024-03-01T00:00:00Z', '2024-02-30T00:00:00Z', '2024-03-01T00:00:00'],
    ...[0, -0, 1, 2, 3, 6, -1, 0.5, 32768, 2 ** 53 - 1, 2 ** 53, 1e30, 1e31, -1e300, 1e301, Infinity, NaN],
    ...['😀'.repeat(1024), '😀'.repeat(1025), '가'.repeat(10_000), '가'.repeat(10_001), '\ud800', '\udc00x'],
    ...[[], {}, [1, 1], [1, 2], [[1]], [{}], { type: 'model' }, { length: 1 }],
  ),
  fc.jsonValue({ maxDepth: 2 }),
)

const ajv = newAjv(isDateTime)

/** Changes one value of a body. `indexes` chooses the path: an index into the members at each depth. */
function mutate(
  body: object,
  indexes: readonly number[],
  change: unknown,
  kind: 'set' | 'drop' | 'add' | 'twice',
) {
  let parent = body as Record<string, unknown>
  let name = ''
  for (const [depth, index] of indexes.entries()) {
    const names = Object.keys(parent)
    if (names.length === 0) break
    name = names[index % names.length]!
    const next = parent[name]
    if (depth === indexes.length - 1 || typeof next !== 'object' || next === null) break
    if (Object.keys(next).length === 0) break
    parent = next as Record<string, unknown>
  }
  if (kind === 'add') parent[Array.isArray(parent) ? parent.length : 'unknown'] = change
  else if (name === '') return
  else if (kind === 'twice' && Array.isArray(parent)) parent.push(parent[Number(name)])
  else if (kind === 'drop' && Array.isArray(parent)) parent.splice(Number(name), 1)
  else if (kind === 'drop') Reflect.deleteProperty(parent, name)
  else parent[name] = change
}

test('a body has problems exactly when typia or another rule refuses it, at most one for each path', () => {
  const mutation = fc.record({
    indexes: fc.array(fc.nat(30), { minLength: 1, maxLength: 6 }),
    change: value,
    kind: fc.constantFrom('set' as const, 'set' as const, 'drop' as const, 'add' as const, 'twice' as const),
  })
  const counts = { accepted: 0, refused: 0 }
  fc.assert(
    fc.property(
      fc.constantFrom(...bodies),
      fc.array(mutation, { maxLength: 3 }),
      ({ type, shape, check, body }, mutations) => {
        const mutated = structuredClone(body)
        for (const { indexes, change, kind } of mutations)
          mutate(mutated, indexes, structuredClone(change), kind)
        const problems = new Problems()
        findProblems(problems, shape, mutated)
        const checked = check(mutated)
        const accepted = checked === null
        expect(problems.count === 0, JSON.stringify(problems.fields)).toBe(accepted)
        expect(validatorOf(ajv, `#/components/schemas/${type}`)(mutated)).toBe(accepted)
        expect(checked?.fields ?? []).toEqual(problems.fields)
        expect(new Set(problems.fields.map((field) => field.path)).size).toBe(problems.count)
        counts[accepted ? 'accepted' : 'refused']++
      },
    ),
    { numRuns: 10_000 },
  )
  // Mutations that never, or always, break a body would prove little.
  expect(Math.min(counts.accepted, counts.refused)).toBeGreaterThan(0.1 * (counts.accepted + counts.refused))
})

test('a list has duplicates exactly when the set of its numbers is smaller', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 30 }), { maxLength: 12 }), (items) => {
      expect(hasDuplicates(items)).toBe(new Set(items).size < items.length)
    }),
  )
  expect([[], [1], [1, 1], [1, 2, 2, 3], [1, 2, 3, 3]].map(hasDuplicates)).toEqual([
    false,
    false,
    true,
    true,
    true,
  ])
})
