/** The pending pool against a naive model of sections 3.1 to 3.3, and rules that a table shows better. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { candidate, cycleBody, cycleMs, reading, removal, snapshot } from '../../test/helpers/bodies.js'
import { columnsOf } from '../../test/helpers/columns.js'
import { cycleSequence } from '../../test/helpers/cycle-arbitraries.js'
import { NaivePool, type NaiveResult } from '../../test/helpers/naive-pool.js'
import { outcome, outcomeCodes, warningText, type Candidate, type CycleRequest } from '../contract/index.js'
import type { CyclePlan } from './plan.js'
import { Pool } from './pool.js'
import { stateProblem } from './state.js'

const nullable = (value: number | undefined): number | null =>
  value === undefined || Number.isNaN(value) ? null : value

/** Results of a plan in the form of the naive model. */
function resultsOf(plan: CyclePlan, cycle: CycleRequest): NaiveResult[] {
  const { next, scoring } = plan
  const pending = [...plan.outcomes].map((code, slot): NaiveResult => {
    const { status, reason } = outcomeCodes[code]!
    const post = `${next.galleries[next.gallery[slot]!]}/${next.postNo[slot]}`
    if (code !== outcome.scored) return { post, status, reason }
    const row = scoring.readings[scoring.slots.indexOf(slot)]!
    return {
      post,
      status,
      reason,
      views: nullable(scoring.engagement.views[row]),
      viewsBefore: nullable(scoring.previous.views[slot]),
      hits: nullable(scoring.snapshot.hit_cnt[slot]),
    }
  })
  const unknown = plan.unknownRows.map((row): NaiveResult => {
    const { gall_id, post_no } = cycle.engagement[row]!
    return { post: `${gall_id}/${post_no}`, status: 'not_scored', reason: 'unknown_post' }
  })
  return [...pending, ...unknown]
}

const withNulls = (results: NaiveResult[]): NaiveResult[] =>
  results.map((result) =>
    result.status === 'scored'
      ? { ...result, viewsBefore: result.viewsBefore ?? null, hits: result.hits ?? null }
      : result,
  )

test('any sequence of cycles has the results of the naive model', () => {
  fc.assert(
    fc.property(cycleSequence, (cycles) => {
      const pool = new Pool()
      const naive = new NaivePool()
      cycles.forEach((cycle, i) => {
        const plan = pool.plan(columnsOf(cycle), i + 1)
        expect(resultsOf(plan, cycle)).toEqual(withNulls(naive.apply(cycle)))
        pool.publish(plan)
      })
    }),
    { numRuns: 3000 },
  )
})

/** Cycles of hundreds of posts, which enter and leave in `order`; rows are in order of the slots, with gaps or reversed. */
function largeCycles(order: 'oldest' | 'any', rowOrder: 'slots' | 'gaps' | 'reversed'): CycleRequest[] {
  const keys: [gallId: string, postNo: number][] = []
  return Array.from({ length: 6 }, (_, i) => {
    const removals = keys.filter((_key, k) => (order === 'oldest' ? k < 30 * i : k % 11 === i))
    const kept = keys.filter((each) => !removals.includes(each))
    const entering = Array.from({ length: i === 0 ? 300 : 40 }, (_none, k): [string, number] => [
      `g${k % 3}`,
      1000 * i + k + 1,
    ])
    const readPosts = [...kept, ...entering].filter((_key, k) => rowOrder === 'slots' || k % 90 !== i)
    if (rowOrder === 'reversed') readPosts.reverse()
    keys.splice(0, Infinity, ...kept, ...entering)
    const atMs = cycleMs(i) - 1000
    return cycleBody(i, {
      candidates: entering.map((each) => candidate(...each)),
      engagement: readPosts.map((each, k) =>
        reading(...each, atMs, { views: 7 * i + k, status: k % 70 === 3 && i > 2 ? 'missing' : 'ok' }),
      ),
      candidate_scores:
        i % 3 === 1 ? [] : readPosts.map((each, k) => snapshot(...each, atMs, { hit_cnt: i + k })),
      removals: removals.map((each) => removal(...each)),
    })
  })
}

test.each([
  ['oldest', 'slots'],
  ['oldest', 'gaps'],
  ['any', 'slots'],
  ['any', 'reversed'],
] as const)('so do pools of hundreds: posts leave %s first, rows come as %s', (order, rowOrder) => {
  const pool = new Pool()
  const naive = new NaivePool()
  largeCycles(order, rowOrder).forEach((cycle, i) => {
    const plan = pool.plan(columnsOf(cycle), i + 1)
    expect(resultsOf(plan, cycle)).toEqual(withNulls(naive.apply(cycle)))
    pool.publish(plan)
  })
})

test('planning changes nothing: a plan made twice is the same, and so is the state', () => {
  fc.assert(
    fc.property(cycleSequence, (cycles) => {
      const pool = new Pool()
      cycles.forEach((cycle, i) => {
        const columns = columnsOf(cycle)
        const before = structuredClone({ ...pool.state, index: null })
        const first = pool.plan(columns, i + 1)
        expect({ ...pool.state, index: null }).toEqual(before)
        const second = pool.plan(columns, i + 1)
        expect({ ...second, base: null }).toEqual({ ...first, base: null })
        pool.publish(second)
      })
    }),
    { numRuns: 300 },
  )
})

test('the order of rows does not change which posts are scored with which values', () => {
  fc.assert(
    fc.property(cycleSequence, (cycles) => {
      // Ties are the one thing that order decides: keep one row per post.
      const single = <Row extends { gall_id: string; post_no: number }>(rows: Row[]): Row[] => [
        ...new Map(rows.map((row) => [`${row.gall_id}/${row.post_no}`, row])).values(),
      ]
      const [pool, reversed] = [new Pool(), new Pool()]
      cycles.forEach((cycle, i) => {
        const forth = {
          ...cycle,
          engagement: single(cycle.engagement),
          candidate_scores: single(cycle.candidate_scores),
        }
        const back = {
          ...forth,
          engagement: [...forth.engagement].reverse(),
          candidate_scores: [...forth.candidate_scores].reverse(),
        }
        const plans = [pool.plan(columnsOf(forth), i + 1), reversed.plan(columnsOf(back), i + 1)] as const
        const pending = plans.map((plan, k) =>
          resultsOf(plan, k === 0 ? forth : back).slice(0, plan.next.count),
        )
        expect(pending[1]).toEqual(pending[0])
        pool.publish(plans[0])
        reversed.publish(plans[1])
      })
    }),
    { numRuns: 500 },
  )
})

describe('warnings', () => {
  const run = (...cycles: CycleRequest[]): readonly string[] => {
    const pool = new Pool()
    let plan: CyclePlan | undefined
    cycles.forEach((cycle, i) => {
      plan = pool.plan(columnsOf(cycle), i + 1)
      pool.publish(plan)
    })
    return plan?.warnings.map(warningText) ?? []
  }
  const enter = cycleBody(0, { candidates: [1, 2].map((n) => candidate('g', n)) })

  test('are absent from an ordinary cycle', () => {
    expect(run(enter, cycleBody(1, { engagement: [reading('g', 1, cycleMs(1))] }))).toEqual([])
  })

  test('name a candidate sent again with another record, and not one sent again unchanged', () => {
    expect(run(enter, cycleBody(1, { candidates: [candidate('g', 1)] }))).toEqual([])
    const changes: Partial<Candidate>[] = [
      { title: '다른 제목' },
      { created_at: null },
      { body_html: '' },
      { image_positions: [2, 1] },
      { manual_flag: 1 },
      { category_id: 1 },
    ]
    for (const change of changes) {
      expect(
        run(enter, cycleBody(1, { candidates: [candidate('g', 1, change)] })),
        JSON.stringify(change),
      ).toEqual(['candidate sent again with another record, the first one stays (1): g/1'])
    }
  })

  test('name a candidate that one call has twice, unless its records are the same', () => {
    const twice = (title: string): CycleRequest =>
      cycleBody(0, { candidates: [candidate('g', 1), candidate('g', 1, { title })] })
    expect(run(twice(candidate('g', 1).title))).toEqual([])
    expect(run(twice('다른 제목'))).toEqual([
      'candidate sent again with another record, the first one stays (1): g/1',
    ])
  })

  test('are one line per kind, with a count and the first five posts', () => {
    const removals = Array.from({ length: 7 }, (_, n) => removal('g', n + 10))
    expect(run(enter, cycleBody(1, { removals }))).toEqual([
      'removal of a post that is not pending (7): g/10, g/11, g/12, g/13, g/14, …',
    ])
  })

  test('cut a gallery id after 80 characters', () => {
    const removals = [80, 81].map((chars) => removal('g'.repeat(chars), 1))
    const [first, second] = ['', '…'].map((end) => `${'g'.repeat(80)}${end}/1`)
    expect(run(enter, cycleBody(1, { removals }))).toEqual([
      `removal of a post that is not pending (2): ${first}, ${second}`,
    ])
  })

  test('do not cut a character of a gallery id in half', () => {
    const removals = [removal(`${'g'.repeat(79)}😀`, 1)]
    expect(run(enter, cycleBody(1, { removals }))).toEqual([
      `removal of a post that is not pending (1): ${'g'.repeat(79)}…/1`,
    ])
  })

  test('name at most twenty unknown fields', () => {
    const names = Array.from({ length: 21 }, (_, n) => `mood${n}`)
    const unknown = Object.fromEntries(names.map((name) => [name, 1])) as object
    expect(run(cycleBody(0, { ...unknown }))).toEqual(
      names.slice(0, 20).map((name) => `unknown field: ${name}`),
    )
  })

  test('distinguish engagement of a removed post from that of an unknown post', () => {
    const engagement = [reading('g', 1, cycleMs(1)), reading('g', 9, cycleMs(1))]
    expect(run(enter, cycleBody(1, { removals: [removal('g', 1)], engagement }))).toEqual([
      'engagement of a removed post, left out (1): g/1',
    ])
  })

  test('name late cycles, duplicate rows and unknown fields', () => {
    const twice = cycleBody(0, {
      engagement: [reading('g', 1, cycleMs(0)), reading('g', 1, cycleMs(0))],
      candidate_scores: [snapshot('x', 1, cycleMs(0)), snapshot('x', 1, cycleMs(0))],
      ...({ mood: 1 } as object),
    })
    expect(run(cycleBody(1), twice)).toEqual([
      'unknown field: mood',
      'late cycle: 20240301T0005 is already stored; its readings were kept',
      'more than one engagement row, the latest counts (1): g/1',
      'more than one candidate_scores row, the latest counts (1): x/1',
    ])
  })
})

test('the share of missing counters counts rows of every status', () => {
  const pool = new Pool()
  const engagement = [
    reading('g', 1, cycleMs(0), { views: null, status: 'missing' }),
    reading('g', 2, cycleMs(0), { up: null, rtb_vote: null }),
  ]
  expect(pool.plan(columnsOf(cycleBody(0, { engagement })), 1).missingFeatureShare).toBe(3 / 10)
})

test('nothing is retained of galleries without a pending post', () => {
  const pool = new Pool()
  const run = (cycle: CycleRequest, i: number) => pool.publish(pool.plan(columnsOf(cycle), i))
  run(cycleBody(0, { candidates: [candidate('a', 1), candidate('b', 1)] }), 1)
  run(
    cycleBody(1, { engagement: [reading('x', 1, cycleMs(1))], removals: [removal('a', 1), removal('y', 1)] }),
    2,
  )
  expect(pool.state.galleries).toEqual(['b'])
  run(cycleBody(2, { removals: [removal('b', 1)] }), 3)
  expect(pool.state.galleries).toEqual([])
})

test('a pending post is found by its gallery id and number, and no other post is', () => {
  const pool = new Pool()
  const candidates = [candidate('a', 1), candidate('b', 1), candidate('b', 2)]
  pool.publish(pool.plan(columnsOf(cycleBody(0, { candidates })), 1))
  pool.publish(pool.plan(columnsOf(cycleBody(1, { removals: [removal('a', 1)] })), 2))
  const { index } = pool.state
  const slots = [
    ['b', 1],
    ['b', 2],
    ['a', 1],
    ['b', 3],
    ['c', 1],
  ] as const
  expect(slots.map(([gallId, postNo]) => index.findPost(gallId, postNo))).toEqual([0, 1, -1, -1, -1])
})

test('a plan for another state cannot be published', () => {
  const pool = new Pool()
  const [a, b] = [0, 1].map((i) => pool.plan(columnsOf(cycleBody(i)), 1)) as [CyclePlan, CyclePlan]
  pool.publish(a)
  expect(() => {
    pool.publish(b)
  }).toThrow('the state that it was made for')
})

test('plans and states do not change while later cycles are planned and published', () => {
  const pool = new Pool()
  const cycle = cycleBody(0, { candidates: [candidate('g', 1)], engagement: [reading('g', 1, cycleMs(0))] })
  const plan = pool.plan(columnsOf(cycle), 1)
  pool.publish(plan)
  const before = structuredClone({ ...plan, base: null, next: { ...plan.next, index: null } })
  for (let i = 1; i < 5; i++)
    pool.publish(
      pool.plan(columnsOf({ ...cycle, ...cycleBody(i, { candidates: [candidate('g', i + 1)] }) }), i + 1),
    )
  expect({ ...plan, base: null, next: { ...plan.next, index: null } }).toEqual(before)
})

describe('a state breaks an invariant', () => {
  const pool = new Pool()
  pool.publish(pool.plan(columnsOf(cycleBody(0, { candidates: [candidate('g', 1), candidate('g', 2)] })), 1))
  const { state } = pool
  test.each([
    ['a column lacks a row', { postNo: Float64Array.of(1) }, 'row for each post'],
    [
      'a column of readings lacks a row',
      { latest: { ...state.latest, views: Float64Array.of(1) } },
      'row for each post',
    ],
    ['its newest cycle has no time', { newestCycleMs: -Infinity }, 'the time of its newest cycle'],
    ['a post entered after its last cycle', { position: 0 }, 'entered after its last cycle'],
    ['two posts entered in one row', { enteredRow: Float64Array.of(0, 0) }, 'order of entry'],
    ['a post has no gallery', { gallery: Uint32Array.of(0, 1) }, 'has a gallery'],
    ['posts are out of order', { enteredRow: Float64Array.of(1, 0) }, 'order of entry'],
  ])('when %s', (_title, change, problem) => {
    expect(stateProblem(state)).toBeNull()
    expect(stateProblem({ ...state, ...change })).toContain(problem)
  })
})
