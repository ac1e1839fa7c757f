/** The data of the page: each figure is computed from what its name says. All values differ. */
import { describe, expect, test, vi } from 'vitest'
import { candidate, cycleBody, cycleMs, reading, removal, snapshot } from '../../../test/helpers/bodies.js'
import { endedRequest, observed } from '../../../test/helpers/observed-cycles.js'
import { pointFixture } from '../../../test/helpers/page-fixtures.js'
import { formatInstant, type ListPage, type StoredPage } from '../../contract/index.js'
import { StageClock } from '../../cycle/index.js'
import type { ServerSources } from '../../server/index.js'
import { cycleLists, storedCycle } from './cycles.js'
import { image } from './images.js'
import { LeftPostLists, leftQuery } from './left-posts.js'
import { picks, picksQuery } from './picks.js'
import { post as postOf } from './post.js'
import { Titles } from './titles.js'

const minute = 60_000
/** The clock of `observed`. */
const nowMs = cycleMs(100)
/** A client that stays. */
const stays = new AbortController().signal

/** Three posts in two cycles; post 3 is saved with the second one. */
async function twoCycles() {
  const service = await observed()
  const candidates = [
    candidate('g', 1, {
      title: 'First Title',
      created_at: formatInstant(cycleMs(0) - 60 * minute),
      extracted_at: formatInstant(cycleMs(0) - 7 * minute),
      images_in_post: 4,
    }),
    candidate('g', 2, { title: 'Second' }),
    candidate('h', 3, { title: 'Third', source: 'vote' }),
    candidate('h', 4, { title: '' }),
  ]
  const first = { views: 110, up: 21, down: 31, comment_cnt: 41, rtb_vote: 51 }
  const second = { views: 130, up: 27, down: 30, comment_cnt: 41, rtb_vote: null }
  await service.post(
    cycleBody(0, {
      candidates,
      engagement: [
        reading('g', 1, cycleMs(0) - minute, first),
        reading('g', 2, cycleMs(0), { views: 150 }),
        reading('h', 3, cycleMs(0), { views: 190 }),
        reading('h', 4, cycleMs(0)),
      ],
      candidate_scores: [snapshot('g', 1, cycleMs(0), { hit_cnt: 61, hit_cnt_m: 62, upimg_height: 63 })],
    }),
  )
  await service.post(
    cycleBody(1, {
      engagement: [
        reading('g', 1, cycleMs(1), second),
        reading('g', 2, cycleMs(1), { views: 120 }),
        reading('h', 4, cycleMs(1)),
      ],
      removals: [removal('h', 3, { reason: 'saved', tier: 'night' })],
    }),
  )
  return service
}

describe('a pending post', () => {
  test('has its counters, their rates since the reading before, its age and its times', async () => {
    const { sources, observer } = await twoCycles()
    const details = await postOf({ sources, observer }, 'g', 1)
    expect(details).toMatchObject({
      gall_id: 'g',
      post_no: 1,
      source: 'score',
      created_at: new Date(cycleMs(0) - 60 * minute).toISOString(),
      extracted_at: new Date(cycleMs(0) - 7 * minute).toISOString(),
      observed_at: new Date(cycleMs(1)).toISOString(),
      age_s: (nowMs - cycleMs(0)) / 1000 + 3600,
      counters: { views: 130, up: 27, down: 30, comment_cnt: 41, rtb_vote: null },
      // Six minutes passed.
      rates_per_hour: { views: 200, up: 60, down: -10, comment_cnt: 0, rtb_vote: null },
      status: 'scored',
      reason: null,
      rank: 1,
      score: expect.closeTo(0.3, 6) as number,
      p_views: expect.closeTo(0.3, 6) as number,
      p_up: null,
      candidate: { title: 'First Title', images_in_post: 4 },
    })
    expect(details.snapshot).toMatchObject({ hit_cnt: 61, hit_cnt_m: 62, upimg_height: 63, hit_cnt_a: null })
  })

  test('has in each cycle of its timeline the score, the rank and the counters of that cycle', async () => {
    const { sources, observer } = await twoCycles()
    const { timeline } = await postOf({ sources, observer }, 'g', 1)
    expect(timeline).toMatchObject([
      {
        cycle_id: '20240301T0000',
        score: expect.closeTo(0.1, 6) as number,
        rank: 3,
        of: 3,
        counters: { views: 110, up: 21, down: 31, comment_cnt: 41 },
      },
      {
        cycle_id: '20240301T0005',
        score: expect.closeTo(0.3, 6) as number,
        rank: 1,
        of: 2,
        counters: { views: 130, up: 27, down: 30, comment_cnt: 41 },
      },
    ])
    expect(timeline.map(({ cycle_time }) => Date.parse(cycle_time))).toEqual([cycleMs(0), cycleMs(1)])
  })
})

describe('the posts that left', () => {
  const find = async (query: string) => {
    const { sources } = await twoCycles()
    return new LeftPostLists(sources).find(leftQuery(new URLSearchParams(query)), stays)
  }
  const third = {
    cycle_id: '20240301T0005',
    gall_id: 'h',
    post_no: 3,
    title: 'Third',
    reason: 'saved',
    tier: 'night',
  }

  test('are those of the stored cycles, with their titles and their ends', async () => {
    expect(await find('')).toMatchObject({ posts: [third], matching: 1, searched: 1 })
  })

  test.each(['thi', 'h/3', '3', 'H'])('are found by title, gallery and number: %s', async (search) => {
    expect((await find(`q=${encodeURIComponent(search)}`)).posts).toMatchObject([third])
  })

  test('are not found by another text, and pending ones are not among them', async () => {
    for (const search of ['first', 'g', '4'])
      expect(await find(`q=${search}`)).toEqual({ posts: [], matching: 0, searched: 1 })
  })

  test('are those that were pending when they were removed, the last one first', async () => {
    const { sources, post } = await twoCycles()
    await post(cycleBody(2, { removals: [removal('g', 1), removal('h', 3), removal('g', 2)] }))
    const lists = new LeftPostLists(sources)
    const { posts } = await lists.find(leftQuery(new URLSearchParams()), stays)
    expect(posts.map(({ cycle_id, post_no }) => [cycle_id, post_no])).toEqual([
      ['20240301T0010', 2],
      ['20240301T0010', 1],
      ['20240301T0005', 3],
    ])
  })

  test('are searched without reading again, also when more have left than are pending', async () => {
    const { sources, post } = await twoCycles()
    const numbers = Array.from({ length: 1100 }, (_, index) => 100 + index)
    await post(cycleBody(2, { candidates: numbers.map((number) => candidate('g', number)) }))
    await post(cycleBody(3, { removals: numbers.map((number) => removal('g', number)) }))
    const lists = new LeftPostLists(sources)
    const search = async (text: string) =>
      (await lists.find(leftQuery(new URLSearchParams({ q: text })), stays)).matching
    expect(await search('g/11')).toBe(110)
    const readRecord = vi.spyOn(sources.store, 'readRecord')
    expect(await search('third')).toBe(1)
    expect(readRecord).not.toHaveBeenCalled()
  })

  test('are read no further once the client has gone, and the next one reads the rest', async () => {
    const { sources } = await twoCycles()
    const lists = new LeftPostLists(sources)
    const client = new AbortController()
    const newest = sources.store.readRecord(2)
    const readRecord = vi.spyOn(sources.store, 'readRecord').mockImplementationOnce(() => {
      client.abort()
      return newest
    })
    const abandoned = lists.find(leftQuery(new URLSearchParams('q=thi')), client.signal)
    await expect(abandoned).rejects.toMatchObject({ name: 'AbortError' })
    expect(readRecord.mock.calls).toEqual([[2]])
    expect(await lists.find(leftQuery(new URLSearchParams('q=thi')), stays)).toMatchObject({ posts: [third] })
    expect(readRecord.mock.calls).toEqual([[2], [1], [1]])
  })
})

describe('the picks', () => {
  const read = async (query: string) => {
    const { sources, observer } = await twoCycles()
    const titles = new Titles(sources)
    return picks({ sources, observer, titles }, picksQuery(new URLSearchParams(query)), stays)
  }

  test('are not read for a client that has gone', async () => {
    const { sources, observer } = await twoCycles()
    const readRecord = vi.spyOn(sources.store, 'readRecord')
    const parts = { sources, observer, titles: new Titles(sources) }
    const client = new AbortController()
    const abandoned = picks(parts, picksQuery(new URLSearchParams('q=thi')), client.signal)
    client.abort()
    await expect(abandoned).rejects.toMatchObject({ name: 'AbortError' })
    expect(readRecord).not.toHaveBeenCalled()
  })

  test('are by entry, the newest first, if asked for', async () => {
    expect((await read('order=newest')).picks.map(({ post_no }) => post_no)).toEqual([4, 2, 1])
  })

  test('are by rank, with the score of each cycle, the counts of the pool, and what was saved', async () => {
    const response = await read('')
    expect(response).toMatchObject({
      cycle_id: '20240301T0005',
      model_version: 'fake-1',
      weights_version: 'w',
      pending: 3,
      scored: 2,
      matching: 3,
      offset: 0,
      galleries: ['g', 'h'],
      picks: [
        { post_no: 1, rank: 1, title: 'First Title', status: 'scored' },
        { post_no: 2, rank: 2, title: 'Second', status: 'scored' },
        { post_no: 4, rank: null, title: '', status: 'not_scored', reason: 'missing_title' },
      ],
      saves: [
        {
          cycle_id: '20240301T0005',
          gall_id: 'h',
          post_no: 3,
          title: 'Third',
          tier: 'night',
          rank: 1,
          of: 3,
        },
      ],
    })
    const rounded = response.picks.map(({ sparkline }) =>
      sparkline.map((value) => value && Math.round(100 * value)),
    )
    expect(rounded).toEqual([
      [10, 30],
      [50, 20],
      [null, null],
    ])
    expect(response.saves[0]?.score).toBeCloseTo(0.9, 6)
  })

  test.each([
    ['q=first%20TITLE', [1]],
    ['q=g/2', [2]],
    ['gallery=h', [4]],
    ['gallery=g&gallery=h&q=/', [1, 2, 4]],
    ['offset=1&limit=1', [2]],
  ])('of %s are the posts %j', async (query, expected) => {
    expect((await read(query)).picks.map(({ post_no }) => post_no)).toEqual(expected)
  })
})

describe('a list', () => {
  async function lists() {
    const { sources, observer, post } = await observed()
    for (let index = 0; index < 5; index++) await post(cycleBody(index))
    const page = (query: string) =>
      cycleLists(sources, observer, new URLSearchParams(query)) as ListPage<Record<string, unknown>> &
        StoredPage
    return { page, sources, observer }
  }

  test('of calls is read page by page, newest first, until the oldest', async () => {
    const { page, observer } = await lists()
    const ids = (query: string) => {
      const { items, is_last, instance } = page(query)
      expect(instance).toBe(observer.instance)
      return [items.map(({ id }) => id), is_last]
    }
    expect(ids('limit=2')).toEqual([[5, 4], false])
    expect(ids('limit=2&before=4')).toEqual([[3, 2], false])
    expect(ids('limit=2&before=3')).toEqual([[2, 1], true])
    expect(ids('limit=2&before=2')).toEqual([[1], true])
    expect(ids('limit=5')).toEqual([[5, 4, 3, 2, 1], true])
  })

  test('of stored cycles is read page by page, newest first, until the oldest', async () => {
    const { page } = await lists()
    const positions = (query: string) => {
      const { items, is_last, oldest, newest } = page(`list=stored&${query}`)
      expect([oldest, newest]).toEqual([1, 5])
      return [items.map(({ position }) => position), is_last]
    }
    expect(positions('limit=2')).toEqual([[5, 4], false])
    expect(positions('limit=2&before=3')).toEqual([[2, 1], true])
    expect(positions('limit=2&before=4')).toEqual([[3, 2], false])
    expect(page('list=stored&limit=1').items).toMatchObject([
      { position: 5, cycleId: '20240301T0020', modelVersion: 'fake-1', weightsVersion: 'w' },
    ])
  })

  test('has a call with its time, its duration, and the warnings and counts of its cycle', async () => {
    const { sources, observer, post } = await observed()
    const stages = Object.assign(new StageClock(0), { cycleId: '20240301T0100' })
    const summary = {
      cycleId: '20240301T0105',
      counts: pointFixture(0).counts,
      warnings: [{ code: 'late_cycle', count: null, detail: 'w' }],
      modelVersion: 'm-1',
      weightsVersion: 'w-2',
    }
    await post(cycleBody(0))
    observer.requestEnded({
      ...endedRequest,
      receivedAtMs: cycleMs(7),
      startedAt: 100,
      endedAt: 350.5,
      bytesIn: 71,
      bytesOut: 72,
      stages: Object.assign(stages, { summary }),
    })
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
    expect(cycleLists(sources, observer, new URLSearchParams('limit=1')).items).toMatchObject([
      {
        id: 2,
        at: new Date(cycleMs(7)).toISOString(),
        ms: 250.5,
        result: 'scored',
        is_late: true,
        cycle_id: '20240301T0105',
        counts: pointFixture(0).counts,
        warnings: [{ code: 'late_cycle', count: null, detail: 'w' }],
        model_version: 'm-1',
        weights_version: 'w-2',
        bytes_in: 71,
        bytes_out: 72,
      },
    ])
  })
})

test('a point of the charts has the counts, the results, the quantiles and the versions of its cycle', async () => {
  const { observer, post, sources } = await observed()
  const posts = Array.from({ length: 11 }, (_, n) => n)
  await post(
    cycleBody(0, {
      candidates: posts.map((n) => candidate('g', n + 1, n === 10 ? { title: '' } : {})),
      engagement: [
        ...posts.map((n) => reading('g', n + 1, cycleMs(0), { views: 100 + n, up: n === 0 ? null : n })),
        reading('x', 99, cycleMs(0)),
      ],
      removals: [removal('g', 77)],
    }),
  )
  const point = observer.points.last!
  expect(point).toMatchObject({
    cycle_id: '20240301T0000',
    is_late: false,
    pending: 11,
    model_version: 'fake-1',
    weights_version: 'w',
    counts: {
      candidates: 11,
      engagement: 12,
      candidate_scores: 0,
      removals: 1,
      scored_now: 10,
      waiting: 0,
      not_scored: 2,
      results: 12,
    },
    missing_feature_share: 1 / 60,
    warning_kinds: ['removal_not_pending'],
  })
  expect(point.results.filter(({ count }) => count > 0)).toEqual([
    { status: 'scored', reason: null, count: 10 },
    { status: 'not_scored', reason: 'missing_title', count: 1 },
    { status: 'not_scored', reason: 'unknown_post', count: 1 },
  ])
  const rounded = Object.entries(point.score_quantiles!).map(([name, value]) => [
    name,
    Math.round(100 * value),
  ])
  expect(rounded).toEqual([
    ['p10', 1],
    ['p50', 5],
    ['p90', 8],
    ['p99', 9],
  ])
  expect(storedCycle(sources, '20240301T0000')).toMatchObject({
    counts: point.counts,
    warnings: [{ code: 'removal_not_pending', count: 1 }],
    reasons: [
      { reason: 'missing_title', count: 1 },
      { reason: 'missing_clock', count: 0 },
      { reason: 'post_unavailable', count: 0 },
      { reason: 'unknown_post', count: 1 },
    ],
  })
})

test('browsers keep an image under the address that has its hash, and under no other', () => {
  const findImage = () => ({ sha256: new Uint8Array(32).fill(0xab), normalised: Uint8Array.of(1) })
  const read = (sha256: string | null) =>
    image(
      { store: { findImage } } as unknown as ServerSources,
      { gallId: 'g', postNo: 1, position: 1 },
      sha256,
    )
  expect(read('abababababababab').headers['Cache-Control']).toContain('immutable')
  expect(read(null).headers).toEqual({ 'Content-Type': 'image/jpeg' })
  expect(() => read('abababababababac')).toThrow('there is no such image')
})
