import { expect, onTestFinished, test, vi } from 'vitest'
import { dayMs } from '../base/index.js'
import { bytesOf, candidate, cycleBody, cycleMs, reading, removal } from '../../test/helpers/bodies.js'
import { endedRequest as request, observed } from '../../test/helpers/observed-cycles.js'
import { formatInstant, type CycleRequest } from '../contract/index.js'
import { RequestBody, StageClock } from '../cycle/index.js'
import type { EndedRequest } from '../server/index.js'
import { Observer } from './observer.js'
import { picks, picksQuery } from './page-data/picks.js'
import type { Entry, Titles } from './page-data/titles.js'

const noTitles = {
  of: () => null,
  at: () => null,
  read: () => Promise.resolve(),
  readEntries: () => Promise.resolve(),
}
const untitled = noTitles as unknown as Titles
const query = picksQuery(new URLSearchParams())
const gone = new AbortController().signal

const decided = (ms: number) => ({ decided_at: formatInstant(ms) })
const extracted = (ms: number) => ({ extracted_at: formatInstant(ms) })

test('a first score within two cycles is on time, one after that is late, one that never comes is never', async () => {
  const { observer, post } = await observed()
  const at = (index: number, n: number) => reading('g', n, cycleMs(index))
  const candidates = [1, 2, 3, 4].map((n) => candidate('g', n, extracted(cycleMs(0) - 1000)))
  await post(cycleBody(0, { candidates, engagement: [at(0, 1)] }))
  expect(observer.points.last?.first_scores).toEqual({ on_time: 1, late: 0, never: 0, overdue: 0 })
  await post(cycleBody(1, { engagement: [at(1, 2)] }))
  // The cycle of the deadline has not scored two.
  expect(observer.points.last?.first_scores).toEqual({ on_time: 1, late: 0, never: 0, overdue: 2 })
  await post(cycleBody(2, { engagement: [at(2, 3)] }))
  expect(observer.points.last?.first_scores).toEqual({ on_time: 0, late: 1, never: 0, overdue: 1 })
  await post(cycleBody(3, { removals: [removal('g', 4, decided(cycleMs(3)))] }))
  expect(observer.points.last?.first_scores).toEqual({ on_time: 0, late: 0, never: 1, overdue: 0 })
  expect(observer.firstScores(cycleMs(100))).toMatchObject({ on_time: 2, late: 1, never: 1, share: 0.5 })
})

test('the total of a cycle is the sum of its stages without the sending, which waits for the client', async () => {
  const { observer, post } = await observed()
  let nowMs = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (nowMs += 2))
  onTestFinished(() => clock.mockRestore())
  await post(cycleBody(0, { candidates: [candidate('g', 1)] }))
  const { ms, stages_ms } = observer.points.last ?? expect.fail('no cycle was observed')
  const { send = 0, ...others } = stages_ms
  expect(send).toBeGreaterThan(0)
  expect(ms).toBe(Object.values(others).reduce((sum, stage) => sum + stage))
})

test('a post that leaves without a score counts only if it was decided after its deadline, whenever that is reported', async () => {
  const { observer, post } = await observed()
  // The deadline is that of cycle 1.
  const candidates = [1, 2, 3, 4].map((n) => candidate('g', n, extracted(cycleMs(0) - 1000)))
  await post(cycleBody(0, { candidates }))
  await post(cycleBody(1, { removals: [removal('g', 1, decided(cycleMs(1)))] }))
  const late = [cycleMs(1) - 1, cycleMs(1), cycleMs(1) + 1]
  const removals = late.map((ms, index) => removal('g', index + 2, decided(ms)))
  // The client was down meanwhile.
  await post(cycleBody(9, { removals }))
  expect(observer.points.items.map(({ first_scores }) => first_scores.never)).toEqual([0, 0, 1])
})

test('posts with equal scores share their average rank: among the picks, in the timeline and among the saves', async () => {
  const { sources, observer, post } = await observed()
  const candidates = [1, 2, 3, 4].map((n) => candidate('g', n))
  const engagement = [50, 70, 50, 50].map((views, i) => reading('g', i + 1, cycleMs(0), { views }))
  await post(cycleBody(0, { candidates, engagement }))
  const read = () => picks({ sources, observer, titles: untitled }, query, gone)
  expect((await read()).picks.map(({ post_no, rank }) => [post_no, rank])).toEqual([
    [2, 1],
    [1, 3],
    [3, 3],
    [4, 3],
  ])
  await post(
    cycleBody(1, { removals: [1, 2].map((n) => removal('g', n, { reason: 'saved', tier: 'light' })) }),
  )
  expect((await read()).saves.map(({ post_no, rank, of }) => [post_no, rank, of])).toEqual([
    [2, 1, 4],
    [1, 3, 4],
  ])
})

test('after a restart, the picks have the stored status and reason of each post', async () => {
  const { sources, observer, post } = await observed()
  const candidates = [
    candidate('g', 1),
    candidate('g', 2),
    candidate('g', 3),
    candidate('g', 4, { title: '' }),
    candidate('g', 5),
    candidate('g', 6, { created_at: null }),
  ]
  const unavailable = {
    status: 'missing',
    views: null,
    up: null,
    down: null,
    comment_cnt: null,
    rtb_vote: null,
  } as const
  const engagement = [1, 2, 4, 6].map((n) => reading('g', n, cycleMs(0)))
  engagement.push(reading('g', 5, cycleMs(0), unavailable), reading('h', 99, cycleMs(0)))
  await post(cycleBody(0, { candidates, engagement }))
  const shown = async (of: Observer) => {
    const all = await picks({ sources, observer: of, titles: untitled }, query, gone)
    return all.picks.map(({ post_no, status, reason, rank }) => [post_no, status, reason, rank])
  }
  const before = await shown(observer)
  expect(new Set(before.map(([, , reason]) => reason))).toEqual(
    new Set([null, 'missing_title', 'missing_clock', 'post_unavailable']),
  )
  expect(await shown(new Observer(sources))).toEqual(before)
})

test('first scores are those of the last 24 hours: none if all cycles are older, also no post that was overdue', async () => {
  const { observer, post } = await observed()
  const candidates = [1, 2, 3].map((n) => candidate('g', n, extracted(cycleMs(0) - 1000)))
  const at = cycleMs(100)
  await post(cycleBody(0, { candidates, engagement: [reading('g', 1, cycleMs(0))] }), at)
  await post(cycleBody(2, { engagement: [reading('g', 2, cycleMs(2))] }), at + 1000)
  const target = 0.99
  const all = { on_time: 1, late: 1, never: 0, overdue: 1, share: 1 / 3, target }
  expect(observer.firstScores(at + dayMs)).toEqual(all)
  expect(observer.firstScores(at + dayMs + 1)).toEqual({ ...all, on_time: 0, share: 0 })
  const none = { on_time: 0, late: 0, never: 0, overdue: 0, share: null, target }
  expect(observer.firstScores(at + dayMs + 1001)).toEqual(none)
})

test('a save has the rank of the cycle before it', async () => {
  const { sources, observer, post } = await observed()
  const candidates = [1, 2, 3].map((n) => candidate('g', n))
  const engagement = [10, 30, 20].map((views, i) => reading('g', i + 1, cycleMs(0), { views }))
  await post(cycleBody(0, { candidates, engagement }))
  const [track] = observer.tracks.all
  expect(track && [0, 1, 2].map((row) => track.rankAt(row).rank)).toEqual([3, 1, 2])
  await post(
    cycleBody(1, {
      removals: [removal('g', 3, { reason: 'saved', tier: 'light' }), removal('g', 1)],
      engagement: [reading('g', 2, cycleMs(1))],
    }),
  )
  const at = ({ row, position }: Entry): string => `candidate ${row} of cycle ${position}`
  const titles = { ...noTitles, at } as unknown as Titles
  const { saves } = await picks({ sources, observer, titles }, query, gone)
  expect(saves).toEqual([
    {
      cycle_id: '20240301T0005',
      gall_id: 'g',
      post_no: 3,
      title: 'candidate 2 of cycle 1',
      tier: 'light',
      score: track?.scoreAt(2),
      rank: 2,
      of: 3,
    },
  ])
})

test('the recorder keeps the newest 1,000 cycles, and only the refusals of other operations', async () => {
  const { observer, post } = await observed()
  await post(cycleBody(0))
  const problemAt = (byte: number) => ({ reason: { code: 'not_json' as const, byte }, field: null })
  for (let n = 0; n < 1100; n++) observer.requestEnded({ ...request, status: 400, problem: problemAt(n) })
  for (const status of [200, 404]) observer.requestEnded({ ...request, operation: 'GET /v1/weights', status })
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
  expect(observer.calls.items).toHaveLength(1000)
  expect(observer.calls.last).toMatchObject({ result: 'refused', problem: problemAt(1099) })
  expect(observer.otherCalls.items.map(({ status }) => status)).toEqual([404])
})

test('a call whose client disconnected has the result scored if its cycle was stored, else aborted', async () => {
  const { observer, post } = await observed()
  await post(cycleBody(0), cycleMs(100), 0)
  observer.requestEnded({ ...request, status: 0 })
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
  expect(observer.calls.items).toMatchObject([
    { status: 0, result: 'scored', cycle_id: '20240301T0000' },
    { status: 0, result: 'aborted', cycle_id: null },
  ])
})

test('each cycle whose response takes longer to send is processed after a second', async () => {
  const { sources, observer } = await observed()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  for (const index of [0, 1]) {
    const body = new RequestBody(bytesOf(cycleBody(index)))
    await sources.cycles.intake.submit(body, cycleMs(100), new StageClock(0))
    vi.advanceTimersByTime(999)
    expect(observer.points.items).toHaveLength(index)
    vi.advanceTimersByTime(1)
    expect(observer.points.items).toHaveLength(index + 1)
  }
})

test('requests without a key push no cycle out of the recorder', async () => {
  const { observer, post } = await observed()
  await post(cycleBody(0))
  const stranger: EndedRequest = { ...request, status: 401, code: 'unauthorized' }
  for (let n = 0; n < 1100; n++) observer.requestEnded(stranger)
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
  expect(observer.calls.items).toMatchObject([{ result: 'scored' }])
  expect(observer.otherCalls.items).toHaveLength(200)
  expect(observer.otherCalls.last).toMatchObject({ operation: 'POST /v1/cycles', status: 401 })
})

test('a late cycle replaces neither the newest scores nor what is overdue', async () => {
  const { observer, post } = await observed()
  const candidates = [1, 2].map((n) => candidate('g', n, extracted(cycleMs(0) - 1000)))
  await post(cycleBody(0, { candidates, engagement: [reading('g', 1, cycleMs(0))] }))
  await post(cycleBody(4, { engagement: [reading('g', 1, cycleMs(4))] }))
  expect(observer.points.last?.first_scores.overdue).toBe(1)
  const late = cycleBody(1, { engagement: [reading('g', 1, cycleMs(1))] })
  await post(late)
  expect(observer.points.last).toMatchObject({ cycle_id: late.cycle_id, is_late: true })
  expect(observer.points.last?.first_scores.overdue).toBe(1)
  expect(observer.tracks.last?.cycleId).toBe(cycleBody(4).cycle_id)
})

test('a track keeps its scores, ranks, counters and posts while later cycles change the pool', async () => {
  const { observer, post } = await observed()
  const candidates = [1, 2, 3].map((n) => candidate('g', n))
  const readings = (index: number, posts: readonly number[]) =>
    posts.map((n) => reading('g', n, cycleMs(index), { views: 10 * n + index }))
  await post(cycleBody(0, { candidates, engagement: readings(0, [1, 3]) }))
  const first = observer.tracks.last
  const seen = () =>
    [1, 2, 3].map((n) => {
      const slot = first?.find('g', n) ?? -1
      return [
        first?.scoreAt(slot),
        first?.rankAt(slot),
        first?.counterAt('views', slot),
        first?.headAt('p_views', slot),
      ]
    })
  await post(cycleBody(1, { engagement: readings(1, [1, 2, 3]), removals: [removal('g', 1)] }))
  await post(cycleBody(2, { candidates: [candidate('h', 4)], engagement: readings(2, [2, 3]) }))
  // Nobody has looked at the track before.
  expect(seen()).toEqual([
    [expect.any(Number), { rank: 2, of: 2 }, 10, expect.any(Number)],
    [null, { rank: null, of: 2 }, null, null],
    [expect.any(Number), { rank: 1, of: 2 }, 30, expect.any(Number)],
  ])
  expect(first?.find('h', 4)).toBe(-1)
})

test('the newest 200 saves are kept, and the newest 50 shown with their ranks', async () => {
  const { sources, observer, post } = await observed()
  const posts = Array.from({ length: 250 }, (_, index) => index + 1)
  const engagement = posts.map((n) => reading('g', n, cycleMs(0), { views: n }))
  await post(cycleBody(0, { candidates: posts.map((n) => candidate('g', n)), engagement }))
  const before = observer.tracks.last
  const removals = posts.map((n) => removal('g', n, { reason: 'saved', tier: 'light' }))
  await post(cycleBody(1, { removals }))
  expect(observer.saves.items).toHaveLength(200)
  const { saves } = await picks({ sources, observer, titles: untitled }, query, gone)
  expect(saves.map(({ post_no, rank, of }) => [post_no, rank, of])).toEqual(
    Array.from({ length: 50 }, (_, index) => [250 - index, before?.rankAt(249 - index).rank, 250]),
  )
})

test('the points of the charts are those of a day, and the day ends with the newest one', async () => {
  const { observer, post } = await observed()
  const hour = 3_600_000
  for (const [index, hours] of [0, 1, 23, 24.5].entries())
    await post(cycleBody(index), cycleMs(100) + hours * hour)
  expect(observer.points.items.map(({ cycle_id }) => cycle_id)).toEqual(
    [1, 2, 3].map((index) => cycleBody(index).cycle_id),
  )
})

test('picks are those of the pool after a cycle that runs while their titles are read', async () => {
  const { sources, observer, post } = await observed()
  const cycle = (index: number, posts: readonly number[]): CycleRequest =>
    cycleBody(index, {
      candidates: posts.map((n) => candidate('g', n)),
      engagement: posts.map((n) => reading('g', n, cycleMs(index))),
    })
  await post(cycle(0, [1, 2]))
  let next: CycleRequest | null = null
  const titles = {
    ...noTitles,
    read: () => (next === null ? Promise.resolve() : post(next)),
  } as unknown as Titles
  const read = () => picks({ sources, observer, titles }, query, gone)
  expect(await read()).toMatchObject({ cycle_id: '20240301T0000', pending: 2, matching: 2 })
  next = cycle(1, [3])
  expect(await read()).toMatchObject({ cycle_id: '20240301T0005', pending: 3, matching: 3 })
})
