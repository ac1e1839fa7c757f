/**
 * An export against the requests and responses that it was made from: every value of every table, read back with DuckDB, on
 * random histories with returning posts, late cycles, nulls, unknown posts and removals without effect.
 */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  bytesOf,
  candidate,
  cycleBody,
  cycleMs,
  reading,
  removal,
  snapshot,
} from '../../../test/helpers/bodies.js'
import { cycleSequence } from '../../../test/helpers/cycle-arbitraries.js'
import { FakeModel } from '../../../test/helpers/fake-model.js'
import { RecordedDirectory } from '../../../test/helpers/recorded-directory.js'
import { scratchDir } from '../../../test/helpers/servers.js'
import { referenceCodec } from '../../codec/index.js'
import {
  counterNames,
  cycleIdOf,
  headNames,
  parseInstant,
  snapshotNames,
  type Candidate,
  type CycleRequest,
  type CycleResponse,
  type Outcome,
} from '../../contract/index.js'
import { catalogue, compileFeatures, type Feature } from '../../model/index.js'
import { exportStore } from './export-store.js'
import { queryExport, QueryError, tablesIn, type QueryValue } from './query.js'
import { exportTables, tableNames, type TableName } from './schema.js'
import { Staging } from './staging.js'

type Row = Readonly<Record<string, QueryValue>>
interface Recorded {
  readonly body: CycleRequest
  readonly response: CycleResponse
}

const weights = { views: 1, comments: 2, up: 0, downvote_share: 0 }

async function exported(
  { store }: Pick<RecordedDirectory, 'store'>,
  {
    features = [],
    fromMs = -Infinity,
    toMs = Infinity,
    texts = false,
  }: { features?: readonly Feature[]; fromMs?: number; toMs?: number; texts?: boolean } = {},
): Promise<string> {
  const directory = scratchDir()
  const staging = await Staging.open({ directory, features: features.map(({ name }) => name) })
  await exportStore(store, { codec: referenceCodec, staging, fromMs, toMs, features, texts })
  return directory
}

/** All rows of a table, with times in microseconds since 1970. */
async function rowsOf(directory: string, name: TableName): Promise<Row[]> {
  const columns = exportTables[name].columns.map(({ name: column, type }) =>
    type.startsWith('TIMESTAMP') ? `epoch_us("${column}") as "${column}"` : `"${column}"`,
  )
  const sql = `select ${columns.join(', ')}, cast(day as varchar) as day from ${name}`
  const { names, rows } = await queryExport(directory, sql, 1_000_000)
  return rows.map((row) => Object.fromEntries(names.map((column, index) => [column, row[index] ?? null])))
}

function sorted(rows: readonly object[]): string[] {
  return rows
    .map((row) =>
      JSON.stringify(Object.fromEntries(Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1)))),
    )
    .sort()
}

function micros(text: string | null | undefined): number | null {
  const instant = typeof text === 'string' ? parseInstant(text) : null
  return instant === null ? null : instant.ms * 1000 + Math.round(instant.fraction * 1000)
}

function dayOf(text: string): string {
  return cycleIdOf(parseInstant(text)!.ms).replace(/^(\d{4})(\d\d)(\d\d)T.*/, '$1-$2-$3')
}

interface NaiveVisit {
  readonly entered: CycleRequest
  readonly candidate: Candidate
  end?: { readonly removal: CycleRequest['removals'][number]; readonly cycle: Recorded }
}

/** What the tables must hold, from the requests and the responses alone. */
function naiveTables(recorded: readonly Recorded[]): Record<string, object[]> {
  const pending = new Map<string, NaiveVisit>()
  const visits: NaiveVisit[] = []
  const tables: Record<string, object[]> = {}
  const add = (table: string, row: object): void => void (tables[table] ??= []).push(row)
  let newest = -Infinity
  for (const [index, { body, response }] of recorded.entries()) {
    const day = dayOf(body.cycle_time)
    const cycle = { cycle_id: body.cycle_id, cycle_time: micros(body.cycle_time), day }
    for (const each of body.candidates) {
      if (pending.has(nameOf(each))) continue
      const visit: NaiveVisit = { entered: body, candidate: each }
      visits.push(visit)
      pending.set(nameOf(each), visit)
    }
    for (const each of body.removals) {
      const visit = pending.get(nameOf(each))
      pending.delete(nameOf(each))
      if (visit !== undefined) visit.end = { removal: each, cycle: { body, response } }
      add('removals', {
        ...{ ...cycle, ...keyOf(each), entered_cycle_id: visit?.entered.cycle_id ?? null },
        ...{ reason: each.reason, tier: each.tier ?? null, reason_code: each.reason_code ?? null },
        ...{ decided_at: micros(each.decided_at), known_at: micros(response.received_at) },
      })
    }
    const at = parseInstant(body.cycle_time)!.ms
    const { counts } = response
    add('cycles', {
      ...{ ...cycle, position: index + 1, received_at: micros(response.received_at) },
      ...{ scored_at: micros(response.scored_at), model_version: 'fake-1', weights_version: 'initial' },
      ...{ weight_views: 1, weight_comments: 2, weight_up: 0, weight_downvote_share: 0 },
      ...{ candidates: counts.candidates, engagement: counts.engagement },
      ...{ candidate_scores: counts.candidate_scores, removals: counts.removals },
      ...{ scored: counts.scored_now, waiting: counts.waiting, not_scored: counts.not_scored },
      ...{ results: counts.results, missing_feature_share: response.missing_feature_share },
      ...{ late: at < newest, warnings: response.warnings },
    })
    newest = Math.max(newest, at)
    const scores = response.results.flatMap(({ score }) => (score === null ? [] : [score]))
    for (const row of response.results) {
      const above = scores.filter((score) => score > row.score!).length
      const tied = scores.filter((score) => score === row.score).length
      const visit = row.reason === 'unknown_post' ? undefined : pending.get(nameOf(row))
      add('scores', {
        ...{ ...cycle, ...keyOf(row), entered_cycle_id: visit?.entered.cycle_id ?? null },
        ...{ status: row.status, reason: row.reason ?? null },
        ...{ score: row.score === null ? null : Math.fround(row.score) },
        rank: row.score === null ? null : above + (tied + 1) / 2,
        ...Object.fromEntries(
          headNames.map((name) => [name, row[name] === undefined ? null : Math.fround(row[name])]),
        ),
        ...{ model_version: 'fake-1', weights_version: 'initial' },
      })
    }
    for (const row of body.engagement)
      add('readings', {
        ...{ ...cycle, ...keyOf(row), observed_at: micros(row.observed_at), status: row.status },
        ...Object.fromEntries(counterNames.map((name) => [name, row[name]])),
      })
    for (const row of body.candidate_scores)
      add('snapshots', {
        ...{ ...cycle, ...keyOf(row), snapshot_at: micros(row.snapshot_at) },
        ...Object.fromEntries(snapshotNames.map((name) => [name, row[name] ?? null])),
      })
  }
  for (const { entered, candidate: post, end } of visits)
    add('visits', {
      ...{ ...keyOf(post), entered_cycle_id: entered.cycle_id, day: dayOf(entered.cycle_time) },
      ...{ entered_cycle_time: micros(entered.cycle_time), title: post.title },
      ...{ created_at: micros(post.created_at), extracted_at: micros(post.extracted_at) },
      ...{ source: post.source, manual_flag: post.manual_flag, gallery_type: post.gallery_type ?? null },
      ...{ category_id: post.category_id ?? null, images_in_post: post.images_in_post },
      ...{ images_expected: post.image_positions?.length ?? null, body_html: null },
      ...{ fate: end?.removal.reason ?? null, tier: end?.removal.tier ?? null },
      ...{ decided_at: micros(end?.removal.decided_at), left_cycle_id: end?.cycle.body.cycle_id ?? null },
      fate_known_at: micros(end?.cycle.response.received_at),
    })
  return tables
}

function nameOf({ gall_id, post_no }: { gall_id: string; post_no: number }): string {
  return `${gall_id}/${post_no}`
}

function keyOf({ gall_id, post_no }: { gall_id: string; post_no: number }): object {
  return { gall_id, post_no }
}

async function record(bodies: readonly CycleRequest[]): Promise<{
  readonly recorded: Recorded[]
  readonly directory: RecordedDirectory
  readonly model: FakeModel
}> {
  const model = new FakeModel()
  const directory = await RecordedDirectory.open({ model, weights })
  const recorded: Recorded[] = []
  for (const body of bodies) {
    const lateByMs = recorded.length * 1000
    const receivedAtMs = Math.max(...bodies.map(({ cycle_time }) => Date.parse(cycle_time))) + lateByMs
    recorded.push({ body, response: await directory.submit(body, receivedAtMs) })
  }
  return { recorded, directory, model }
}

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
      ...{ title: '따옴표 \' " 와 \n 줄', body_html: '<p>본문</p>', gallery_type: 'mini', category_id: -3 },
      ...{ manual_flag: 1, image_positions: [1, 3], images_in_post: 4, created_at: null },
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
  })

  test('has the exact float32 rows that the model was given', async () => {
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
    const out = await exported(directory, { features: catalogue })
    const fill = compileFeatures(catalogue, { codec: referenceCodec, missing: 'nan' })
    const names = catalogue.map(({ name }) => `"${name}"`)
    for (const [index, { response }] of recorded.entries()) {
      const inputs = model.seen[index]!
      const matrix = new Float32Array(inputs.count * catalogue.length)
      fill(inputs, matrix)
      const { rows } = await queryExport(
        out,
        `select ${names.join(', ')} from scores where cycle_id = '${response.cycle_id}' order by post_no`,
        10,
      )
      expect(rows.flat()).toEqual(Array.from(matrix, (value) => (Number.isNaN(value) ? null : value)))
    }
  })

  test('has outcomes and their readings, with the time of the last report', async () => {
    const { directory } = await record([cycleBody(0)])
    const placed = cycleBody(3).cycle_time
    const whole: Outcome & { deleted_by: string } = {
      ...{ placement_id: 'p1', gall_id: 'g', post_no: 7, tier: 'night', placed_at: placed },
      picked_by: {
        ...{ type: 'model', model_version: 'm', weights_version: 'w', cycle_id: cycleBody(2).cycle_id },
      },
      ...{ score_at_placement: 0.125, views_at_placement: 1, up_at_placement: 2 },
      ...{ down_at_placement: null, comment_at_placement: 4, hidden_at: null },
      ...{ deleted_at: cycleBody(9).cycle_time, deleted_by: 'operator' },
      readings: [
        {
          ...{ age_h: 6, observed_at: cycleBody(80).cycle_time },
          ...{ views: 10, up: null, down: 0, comment_cnt: 3 },
        },
      ],
    }
    const bare: Outcome = {
      ...{ placement_id: 'p2', gall_id: 'h', post_no: 1, tier: 'main', placed_at: placed },
      picked_by: { type: 'operator' },
    }
    await directory.putOutcomes([whole], cycleMs(90))
    await directory.store.putOutcomes([{ placementId: 'p2', record: bytesOf(bare), arrivedAtMs: cycleMs(4) }])
    const out = await exported(directory)
    const day = dayOf(placed)
    const known = cycleMs(90) * 1000
    const absent = {
      ...{ picked_model_version: null, picked_weights_version: null, picked_cycle_id: null },
      ...{ score_at_placement: null, views_at_placement: null, up_at_placement: null },
      ...{ down_at_placement: null, comment_at_placement: null, hidden_at: null, deleted_at: null },
    }
    expect(sorted(await rowsOf(out, 'outcomes'))).toEqual(
      sorted([
        {
          ...{ ...absent, placement_id: 'p1', gall_id: 'g', post_no: 7, tier: 'night', day },
          ...{ placed_at: micros(placed), picked_by: 'model', picked_model_version: 'm' },
          ...{ picked_weights_version: 'w', picked_cycle_id: cycleBody(2).cycle_id },
          ...{ score_at_placement: 0.125, views_at_placement: 1, up_at_placement: 2 },
          ...{ comment_at_placement: 4, deleted_at: micros(whole.deleted_at), deleted_by: 'operator' },
          known_at: known,
        },
        {
          ...{ ...absent, placement_id: 'p2', gall_id: 'h', post_no: 1, tier: 'main', day },
          ...{ placed_at: micros(placed), picked_by: 'operator', deleted_by: null },
          known_at: cycleMs(4) * 1000,
        },
      ]),
    )
    expect(await rowsOf(out, 'outcome_readings')).toEqual([
      {
        ...{ placement_id: 'p1', gall_id: 'g', post_no: 7, age_h: 6, day, known_at: known },
        ...{ observed_at: cycleMs(80) * 1000, views: 10, up: null, down: 0, comment_cnt: 3 },
      },
    ])
  })

  test('of a window has its cycles, and whole visits that overlap it', async () => {
    const posts = [1, 2, 3].map((post) => candidate('g', post))
    const { directory } = await record([
      cycleBody(0, { candidates: posts, removals: [removal('g', 1)] }),
      cycleBody(1, { engagement: [reading('g', 2, cycleMs(1))], removals: [removal('g', 2)] }),
      cycleBody(2, { removals: [removal('g', 3)] }),
    ])
    const out = await exported(directory, { fromMs: cycleMs(1), toMs: cycleMs(1) })
    expect((await rowsOf(out, 'cycles')).map(({ position }) => position)).toEqual([2])
    expect((await rowsOf(out, 'readings')).map(({ post_no }) => post_no)).toEqual([2])
    const ends = (await rowsOf(out, 'visits')).map((row) => [row['post_no'], row['left_cycle_id']])
    expect(sorted(ends)).toEqual(
      sorted([
        [2, cycleBody(1).cycle_id],
        [3, cycleBody(2).cycle_id],
      ]),
    )
  })

  test('has the beginning of a visit whose cycle has expired while its entry is kept', async () => {
    const { directory } = await record([
      cycleBody(0, { candidates: [1, 2].map((post) => candidate('g', post)) }),
      cycleBody(1, { engagement: [reading('g', 1, cycleMs(1))] }),
      cycleBody(2, { removals: [removal('g', 2)] }),
    ])
    const expiry = directory.store.expiry
    const visits = async (): Promise<unknown[]> => {
      const rows = await rowsOf(await exported(directory), 'visits')
      return rows
        .map(({ post_no, entered_cycle_id, title, fate }) => [post_no, entered_cycle_id, title, fate])
        .sort()
    }
    await expiry.removeCycles([{ position: 1, keepEntry: true }])
    expect(await visits()).toEqual([
      [1, cycleBody(0).cycle_id, '제목 1 ㅋㅋ', null],
      [2, cycleBody(0).cycle_id, '제목 2 ㅋㅋ', 'hidden'],
    ])
    const scores = await rowsOf(await exported(directory), 'scores')
    expect(new Set(scores.map((row) => row['entered_cycle_id']))).toEqual(new Set([cycleBody(0).cycle_id]))
    await expiry.removeEntries([1])
    expect(await visits()).toEqual([[2, null, null, 'hidden']])
  })

  test('has one directory per KST day, and no file for an empty table', async () => {
    const [before, after] = [179, 180].map((index) =>
      cycleBody(index, { candidates: [candidate('g', index)] }),
    )
    // 180 cycles after midnight in KST is 15:00; the next day begins 288 cycles after it.
    const { directory } = await record([before!, after!, cycleBody(288)])
    const out = await exported(directory)
    expect(readdirSync(join(out, 'cycles')).sort()).toEqual(['day=2024-03-01', 'day=2024-03-02'])
    expect(existsSync(join(out, 'snapshots'))).toBe(false)
    expect(await rowsOf(out, 'snapshots')).toEqual([])
  })
})

describe('a query', () => {
  test.each([
    [
      'copy (select 1) to',
      "copy (select 1) to 'x.csv'",
      /Permission Error: Cannot access file|only statements that read/,
    ],
    ['create', 'create table x (a int)', /only statements that read are allowed, not CREATE/],
    ['set', 'set threads = 1', /only statements that read are allowed, not SET/],
    ['two statements', 'select 1; select 2', /one statement is needed, not 2/],
    ['another file', "select * from read_text('/etc/hostname')", /Permission Error/],
    ['an extension', 'install httpfs', /only statements that read are allowed/],
    ['a wrong name', 'select nothing from cycles', /Binder Error: Referenced column "nothing" not found/],
  ])('refuses %s', async (_, sql, message) => {
    const { directory } = await record([cycleBody(0)])
    const failure = queryExport(await exported(directory), sql, 10)
    await expect(failure).rejects.toThrow(message)
    await expect(failure).rejects.toBeInstanceOf(QueryError)
  })

  test('has at most the rows that are asked for, whole numbers as numbers, times in KST', async () => {
    const { directory } = await record([cycleBody(0), cycleBody(1)])
    const out = await exported(directory)
    const sql = 'select position, cycle_time, [1::bigint, 2] as list from cycles order by position'
    expect(await queryExport(out, sql, 1)).toEqual({
      names: ['position', 'cycle_time', 'list'],
      rows: [[1, '2024-03-01 00:00:00+09', [1, 2]]],
      truncated: true,
    })
    const { rows, truncated } = await queryExport(out, sql, 2)
    expect([rows.length, truncated]).toEqual([2, false])
  })

  test('names the tables that it reads', () => {
    expect(tablesIn('SELECT * FROM Scores JOIN cycles USING (cycle_id)')).toEqual(['cycles', 'scores'])
  })
})
