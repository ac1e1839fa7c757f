/**
 * An export against the requests and responses that it was made from: every value of every table, read back with DuckDB, on
 * random histories with returning posts, late cycles, nulls, unknown posts and removals without effect.
 */
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { candidate, cycleBody, cycleMs, reading, removal, snapshot } from '../../../test/helpers/bodies.js'
import { cycleSequence } from '../../../test/helpers/cycle-arbitraries.js'
import { exported, queried, record, rowsOf, sorted } from '../../../test/helpers/exported-tables.js'
import { FakeModel } from '../../../test/helpers/fake-model.js'
import { naiveTables } from '../../../test/helpers/naive-export.js'
import { RecordedDirectory } from '../../../test/helpers/recorded-directory.js'
import { catalogue, compileFeatures } from '../../model/index.js'
import { tableNames } from './schema.js'

const histories = fc.sample(cycleSequence, { numRuns: 8, seed: 19 })

describe('an export', () => {
  test.each(histories.map((bodies, index) => [index, bodies] as const))(
    'of random history %i has every value of its requests and responses',
    async (_, bodies) => {
      const { recorded, directory } = await record(bodies)
      const out = await exported(directory)
      const expected = naiveTables(recorded)
      for (const name of tableNames)
        expect(sorted(await rowsOf(out, name)), name).toEqual(sorted(expected[name] ?? []))
    },
  )

  test('gives equal scores their average rank', async () => {
    const views = [10, 30, 10, 20, 10]
    const { recorded, directory } = await record([
      cycleBody(0, {
        candidates: views.map((_, post) => candidate('g', post + 1)),
        engagement: views.map((count, post) => reading('g', post + 1, cycleMs(0), { views: count })),
      }),
    ])
    const rows = await rowsOf(await exported(directory), 'scores')
    expect(rows.map(({ post_no, rank }) => [post_no, rank]).sort()).toEqual([
      [1, 4],
      [2, 1],
      [3, 4],
      [4, 2],
      [5, 4],
    ])
    expect(sorted(rows)).toEqual(sorted(naiveTables(recorded)['scores'] ?? []))
  })

  test('has optional members of candidates, removals and texts', async () => {
    const full = candidate('갤러리', 2 ** 53 - 1, {
      title: '따옴표 \' " 와 \n 줄',
      body_html: '<p>본문</p>',
      gallery_type: 'mini',
      category_id: -3,
      manual_flag: 1,
      image_positions: [1, 3],
      images_in_post: 4,
      created_at: null,
    })
    const { recorded, directory } = await record([
      cycleBody(0, { candidates: [full, candidate('g', 2)] }),
      cycleBody(1, {
        candidates: [candidate('brief', 1)],
        removals: [
          removal('brief', 1, { reason: 'deleted' }),
          removal('g', 2, { reason: 'saved', tier: 'app', reason_code: 'R-7' }),
          removal('g', 2, { reason: 'hidden' }),
        ],
      }),
    ])
    const out = await exported(directory, { texts: true })
    const expected = naiveTables(recorded)
    expect(sorted(await rowsOf(out, 'removals'))).toEqual(sorted(expected['removals'] ?? []))
    const visits = (expected['visits'] ?? []).map((visit) => ({
      ...visit,
      body_html: 'post_no' in visit && visit.post_no === full.post_no ? full.body_html : null,
    }))
    expect(sorted(await rowsOf(out, 'visits'))).toEqual(sorted(visits))
    // Personal data is written on request only.
    const bodies = (await rowsOf(await exported(directory), 'visits')).map(({ body_html }) => body_html)
    expect(bodies).toEqual(visits.map(() => null))
  })

  test.each(['nan', 'imputed'] as const)(
    'has the exact float32 rows that a model with missing %s was given',
    async (missing) => {
      const posts = [1, 2, 3]
      const { recorded, directory, model } = await record(
        [0, 1, 2].map((index) =>
          cycleBody(index, {
            candidates: index === 0 ? posts.map((post) => candidate('g', post)) : [],
            engagement: posts.map((post) =>
              reading('g', post, cycleMs(index), { views: 10 * post * index, up: post === 2 ? null : post }),
            ),
            candidate_scores: [snapshot('g', 1 + index, cycleMs(index), { hit_cnt: 5, memo_size: null })],
          }),
        ),
      )
      const out = await exported(directory, { features: catalogue, missing })
      // A window that does not begin with the first cycle.
      const later = await exported(directory, { features: catalogue, missing, fromMs: cycleMs(1) })
      const fill = compileFeatures(catalogue, missing)
      const names = catalogue.map(({ name }) => `"${name}"`)
      for (const [index, { response }] of recorded.entries()) {
        const inputs = model.seen[index]!
        const matrix = new Float32Array(inputs.count * catalogue.length)
        fill(inputs, matrix)
        const values = Array.from(matrix, (value) => (Number.isNaN(value) ? null : value))
        for (const tables of index === 0 ? [out] : [out, later]) {
          const { rows } = await queried(
            tables,
            `select ${names.join(', ')} from scores where cycle_id = '${response.cycle_id}' order by post_no`,
          )
          expect(rows.flat()).toEqual(values)
        }
      }
    },
  )

  test('has the scores of each shadow, with their ranks', async () => {
    const directory = await RecordedDirectory.open()
    const predicted = Float32Array.of(0.25, 0.5, 0.25)
    const shadow = Object.assign(new FakeModel(), {
      version: 'shadow-1',
      predict: () =>
        Promise.resolve({ p_views: predicted, p_comments: null, p_up: null, downvote_share: null }),
    })
    await directory.service.models.addShadow(shadow)
    await directory.submit(
      cycleBody(0, {
        candidates: [1, 2, 3, 4].map((post) => candidate('g', post)),
        // Post 2 is not scored.
        engagement: [1, 3, 4].map((post) => reading('g', post, cycleMs(0))),
      }),
    )
    const { models } = directory.store
    const isStored = (): boolean => models.readShadowScores(1, 'shadow-1') !== undefined
    await vi.waitUntil(isStored, { timeout: 20_000, interval: 5 })
    const rows = await rowsOf(await exported(directory), 'shadow_scores')
    const { cycle_id } = cycleBody(0)
    const expected = [
      [1, 0.25, 2.5],
      [3, 0.5, 1],
      [4, 0.25, 2.5],
    ].map(([post_no, score, rank]) => ({
      cycle_id,
      cycle_time: cycleMs(0) * 1000,
      day: '2024-03-01',
      gall_id: 'g',
      post_no,
      entered_cycle_id: cycle_id,
      model_version: 'shadow-1',
      weights_version: 'initial',
      score,
      rank,
      p_views: score,
      p_comments: null,
      p_up: null,
      downvote_share: null,
    }))
    expect(sorted(rows)).toEqual(sorted(expected))
  })
})
