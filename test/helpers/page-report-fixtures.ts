/**
 * Evaluations and explanations, as the page reads them, in which all values differ: a figure under the wrong label is seen.
 */
import type { Comparison, Difference, Explanation, Ranker, Report } from '../../src/page/service/history.js'

/** Its shares lie around `base`, a multiple of 0.1, its counts are `hundreds` and some. */
export function rankerFixture(name: string, base: number, hundreds: number): Ranker {
  const interval = (low: number): readonly [number, number] => [base + low, base + low + 0.005]
  return {
    name,
    rank_percentile: { mean: base + 0.011, n: hundreds + 1, ci95: interval(0.01) },
    same_budget: {
      ...{ picks: hundreds + 2, saved: hundreds + 3, hidden: hundreds + 4, deleted: hundreds + 5 },
      ...{ aged_out: hundreds + 6, open: hundreds + 7 },
      ...{ precision: base + 0.021, recall: base + 0.031, harm: base + 0.041 },
      ci95: { precision: interval(0.02), recall: interval(0.03), harm: interval(0.04) },
      lead_minutes: { p50: hundreds / 10 + 1 },
    },
  }
}

const difference = (a: string, b: string, mean: number, over: Partial<Difference> = {}): Difference => ({
  ...{ a, b, mean, n: 1000 + Math.round(1000 * mean), ci95: [mean - 0.011, mean + 0.012] },
  ...{ verdict: 'better', more_days: 0 },
  ...over,
})

export const reportFixture: Report = {
  window: {
    ...{ from: '2026-03-01T15:05:00Z', to: '2026-03-03T14:55:00Z', cycles: 575, days: 2 },
    versions: ['model-1 / weights-1', 'model-2 / weights-2', 'model-3 / weights-3'],
  },
  visits: { total: 9001, saved: 301, hidden: 302, deleted: 303, aged_out: 304, open: 305 },
  rankers: [
    rankerFixture('model', 0.8, 100),
    rankerFixture('shadow:v-2', 0.7, 200),
    rankerFixture('up_per_view', 0.6, 300),
  ],
  differences: [
    difference('model', 'shadow:v-2', 0.05),
    difference('model', 'views', -0.04, { verdict: 'worse', more_days: 0 }),
    difference('model', 'newest', 0.003, { verdict: 'cannot be told apart', more_days: 17 }),
    { ...difference('model', 'up', 0, { verdict: null, more_days: 19 }), mean: null, ci95: null, n: 0 },
  ],
  first_score: {
    ...{ on_time: 8001, late: 81, never: 82, excluded: 83, share: 0.98, target: 0.99 },
    reasons: { missing_title: 91, no_cycle: 92 },
    worst: [
      {
        ...{ gall_id: 'g1', post_no: 11, result: 'late', extracted_at: '2026-03-01T16:00:00Z' },
        ...{ first_scored_at: '2026-03-01T16:30:00Z', minutes_late: 21, reason: 'missing_title' },
      },
      {
        ...{ gall_id: 'g2', post_no: 12, result: 'never', extracted_at: '2026-03-01T17:00:00Z' },
        ...{ first_scored_at: null, minutes_late: 22, reason: 'no_cycle' },
      },
    ],
  },
  by: {
    gallery: [
      {
        ...{ value: 'g1', visits: 601, saved: 602, picks: 603, picked_saved: 604 },
        rank_percentile: { mean: 0.611, n: 612, ci95: [0.601, 0.621] },
        ...{ precision: 0.63, recall: 0.64 },
      },
      {
        ...{ value: null, visits: 701, saved: 702, picks: 703, picked_saved: 704 },
        rank_percentile: { mean: null, n: 0, ci95: null },
        ...{ precision: null, recall: 0.74 },
      },
    ],
    tier: [],
  },
}

export const comparisonFixture: Comparison = {
  cycles: { count: 288, from: '20260301T1205', to: '20260302T1200' },
  posts: 45_678,
  median: {
    rank_correlation: 0.912,
    overlap: { 10: 0.71, 50: 0.72, 100: null },
    mean_absolute_difference: 0.0123,
  },
  quality: {
    first: rankerFixture('shadow:v-1', 0.5, 400),
    second: rankerFixture('shadow:v-2', 0.4, 500),
    difference: difference('shadow:v-1', 'shadow:v-2', 0.06),
  },
}

const cycle = (cycle_id: string, score: number | null, rank: number | null, of: number) => ({
  ...{ cycle_id, score, rank, scored: of, reason: score === null ? 'missing_clock' : null },
  ...{
    status: score === null ? 'not_scored' : 'scored',
    weights_version: `w-${of}`,
    model_version: `m-${of}`,
  },
})

/** A post that has been pending twice, of which the second stay is shown. */
export const explanationFixture: Explanation = {
  candidate: {
    ...{ title: '제목', created_at: '2026-03-02T01:01:00Z', extracted_at: '2026-03-02T01:11:00Z' },
    ...{ source: 'vote', manual_flag: 0, images_in_post: 6, body_html: '<p>본문</p>' },
  },
  last_reading: {
    ...{
      observed_at: '2026-03-02T02:02:00Z',
      views: 12_345,
      up: 21,
      down: 22,
      comment_cnt: 23,
      rtb_vote: 24,
    },
  },
  images: [{ position: 3, sha256: 'abcdef0123456789' }],
  visits: [
    {
      ...{ entered_cycle: null, left_cycle: '20260301T1005', fate: 'aged_out', tier: null },
      ...{ decided_at: '2026-03-01T01:01:00Z', known_at: '2026-03-01T01:06:00Z' },
    },
    {
      ...{ entered_cycle: '20260302T1015', left_cycle: '20260302T1130', fate: 'saved', tier: 'night' },
      ...{ decided_at: '2026-03-02T02:21:00Z', known_at: '2026-03-02T02:30:00Z' },
    },
  ],
  visit: 1,
  cycles: [
    cycle('20260302T1015', null, null, 401),
    cycle('20260302T1020', 0.4321, 33, 402),
    cycle('20260302T1025', 0.5432, 44, 403),
  ],
  explained: {
    ...cycle('20260302T1025', 0.5432, 44, 403),
    weights: { views: 1.5, comments: 0.25, up: 0.75, downvote_share: 0.1 },
    problem: null,
    inputs: [
      {
        ...{ name: 'log_views', value: 9.4211, missing: false, percentile: 0.87, median: 7.2511 },
        ...{ to_median: -0.0812, to_missing: -0.1234 },
      },
      {
        ...{ name: 'age_hours', value: 12, missing: false, percentile: 0.12, median: 5 },
        ...{ to_median: 0.0345, to_missing: null },
      },
      {
        ...{ name: 'text', value: null, missing: false, percentile: null, median: null },
        ...{ to_median: null, to_missing: -0.0456 },
      },
      {
        ...{ name: 'snapshot_up', value: null, missing: true, percentile: null, median: 3.5 },
        ...{ to_median: 0.0567, to_missing: null },
      },
    ],
  },
}
