/**
 * The expected rows of a response, derived from the requests alone.
 */
import { expect, test } from 'vitest'
import type { Candidate, CycleRequest, EngagementRow } from '../contract/index.js'
import { Ledger } from './ledger.js'

function candidate(post_no: number, over: Partial<Candidate> = {}): Candidate {
  return {
    gall_id: 'cat',
    post_no,
    title: '제목',
    created_at: '2026-01-05T08:50:00+09:00',
    extracted_at: '2026-01-05T08:58:00+09:00',
    source: 'score',
    manual_flag: 0,
    images_in_post: 0,
    ...over,
  }
}

function reading(post_no: number, over: Partial<EngagementRow> = {}): EngagementRow {
  return {
    gall_id: 'cat',
    post_no,
    observed_at: '2026-01-05T08:59:50+09:00',
    status: 'ok',
    views: 1,
    up: 1,
    down: 0,
    comment_cnt: 0,
    rtb_vote: 0,
    ...over,
  }
}

function cycle(over: Partial<CycleRequest>): CycleRequest {
  return {
    cycle_id: '20260105T0900',
    cycle_time: '2026-01-05T09:00:00+09:00',
    candidates: [],
    engagement: [],
    candidate_scores: [],
    removals: [],
    ...over,
  }
}

test.each<[string, Partial<Candidate>, Partial<EngagementRow> | null, string]>([
  ['a title, clocks and a reading', {}, {}, 'scored'],
  ['unknown counters', {}, { views: null, up: null }, 'scored'],
  ['no reading in this call', {}, null, 'waiting'],
  ['an empty title and no reading', { title: '' }, null, 'waiting'],
  ['an empty title', { title: '' }, {}, 'missing_title'],
  ['a title of white space', { title: ' \u3000\n' }, {}, 'missing_title'],
  ['an empty title and no clock', { title: '', created_at: null }, {}, 'missing_title'],
  ['no creation time', { created_at: null }, {}, 'missing_clock'],
  ['no extraction time', { extracted_at: null }, { status: 'missing' }, 'missing_clock'],
  ['status missing', {}, { status: 'missing' }, 'post_unavailable'],
  ['status nomap', {}, { status: 'nomap' }, 'post_unavailable'],
])('a pending post with %s has the row that the contract defines', (_what, post, row, outcome) => {
  const engagement = row === null ? [] : [reading(1, row)]
  const { pending } = new Ledger().expect(cycle({ candidates: [candidate(1, post)], engagement }))
  expect(pending.map((expected) => expected.reason ?? expected.status)).toEqual([outcome])
})

test('pending posts come in the order in which they entered, whatever the order of readings', () => {
  const ledger = new Ledger()
  ledger.expect(cycle({ candidates: [candidate(5), candidate(3)] }))
  const { pending } = ledger.expect(
    cycle({ candidates: [candidate(4)], engagement: [reading(3), reading(4), reading(5)] }),
  )
  expect(pending.map((row) => row.post_no)).toEqual([5, 3, 4])
})

test('a removed post is no longer pending from the same call on, even if that call added it', () => {
  const ledger = new Ledger()
  const removal = { reason: 'hidden', decided_at: '2026-01-05T08:59:00+09:00' } as const
  const { pending } = ledger.expect(
    cycle({
      candidates: [candidate(1), candidate(2)],
      removals: [{ gall_id: 'cat', post_no: 1, ...removal }],
    }),
  )
  expect(pending.map((row) => row.post_no)).toEqual([2])
  expect(ledger.pendingCount).toBe(1)
  expect(ledger.titleOf('cat', 1)).toBeUndefined()
})

test('posts without a candidate record are unknown, in request order and whatever their status', () => {
  const { pending, unknown } = new Ledger().expect(
    cycle({
      candidates: [candidate(1)],
      engagement: [reading(9, { status: 'missing' }), reading(1), reading(8)],
    }),
  )
  expect(pending).toHaveLength(1)
  expect(unknown).toEqual([
    { gall_id: 'cat', post_no: 9, status: 'not_scored', reason: 'unknown_post' },
    { gall_id: 'cat', post_no: 8, status: 'not_scored', reason: 'unknown_post' },
  ])
})

test('a post number is one post only within its gallery', () => {
  const { pending } = new Ledger().expect(
    cycle({ candidates: [candidate(1), candidate(1, { gall_id: 'dog' })], engagement: [reading(1)] }),
  )
  expect(pending.map((row) => row.status)).toEqual(['scored', 'waiting'])
})

test('the missing share counts null counters over five per row, and is zero without rows', () => {
  const rows = [reading(1, { views: null, down: null }), reading(2)]
  expect(new Ledger().expect(cycle({ engagement: rows })).missingFeatureShare).toBe(0.2)
  expect(new Ledger().expect(cycle({})).missingFeatureShare).toBe(0)
})
