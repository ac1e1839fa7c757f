/**
 * Reports, comparisons and explanations in which all values differ: a figure under the wrong label is seen.
 */
import type {
  Comparison,
  CycleSummary,
  Difference,
  Explanation,
  Ranker,
  Report,
} from '../../src/contract/index.js'

/** Its shares lie around `base`, a multiple of 0.1, its counts are `hundreds` and some. */
export function rankerFixture(name: string, base: number, hundreds: number): Ranker {
  const interval = (low: number): readonly [number, number] => [base + low - 0.01, base + low + 0.02]
  return {
    name,
    versions: [],
    cycles: hundreds + 8,
    rank_percentile: { mean: base + 0.011, n: hundreds + 1, ci95: interval(0.01) },
    without_negatives: 0,
    saved_in_top: { 10: base + 0.01, 50: base + 0.02, 100: base + 0.03 },
    saved_in_top_ci95: { 10: null, 50: null, 100: null },
    ndcg: { 10: base + 0.004, 50: base + 0.005 },
    ndcg_ci95: { 10: null, 50: null },
    auc_first: base + 0.006,
    auc_last: base + 0.007,
    average_precision_last: base + 0.008,
    same_budget: {
      picks: hundreds + 2,
      saved: hundreds + 3,
      hidden: hundreds + 4,
      deleted: hundreds + 5,
      aged_out: hundreds + 6,
      open: hundreds + 7,
      precision: base + 0.021,
      recall: base + 0.031,
      harm: base + 0.041,
      ci95: { precision: interval(0.02), recall: interval(0.03), harm: interval(0.04) },
      lead_minutes: { p10: hundreds / 10 + 2, p50: hundreds / 10 + 1, p90: hundreds / 10 + 3 },
    },
  }
}

const difference = (a: string, b: string, mean: number, over: Partial<Difference> = {}): Difference => ({
  a,
  b,
  mean,
  n: 1000 + Math.round(1000 * mean),
  ci95: [mean - 0.011, mean + 0.012],
  verdict: 'better',
  more_days: 0,
  ...over,
})

export const reportFixture: Report = {
  window: {
    from: '2026-03-01T15:05:00Z',
    to: '2026-03-03T14:55:00Z',
    cycles: 575,
    days: 2,
    unit: 'day',
    versions: ['model-1 / weights-1', 'model-2 / weights-2', 'model-3 / weights-3'],
    last_hash: { cycle_id: '20260303T2355', hash: 'c0ffee'.padEnd(64, '0') },
  },
  visits: {
    total: 9001,
    saved: 301,
    hidden: 302,
    deleted: 303,
    aged_out: 304,
    open: 305,
    unranked_saved: 306,
  },
  rankers: [
    { ...rankerFixture('model', 0.8, 100), versions: ['m-1 / w-1', 'm-1 / w-2'] },
    rankerFixture('shadow:v-2', 0.7, 200),
    rankerFixture('up_per_view', 0.6, 300),
  ],
  differences: [
    difference('model', 'shadow:v-2', 0.05),
    difference('model', 'views', -0.04, { verdict: 'worse', more_days: 0 }),
    difference('model', 'newest', 0.003, { verdict: 'cannot be told apart', more_days: 17 }),
    { ...difference('model', 'up', 0, { verdict: null, more_days: 19 }), mean: null, ci95: null, n: 0 },
    difference('shadow:v-2', 'views', -0.09, { verdict: 'worse', more_days: 0 }),
  ],
  first_score: {
    on_time: 8001,
    late: 81,
    never: 82,
    excluded: 83,
    share: 0.98,
    target: 0.99,
    reasons: { missing_title: 91, no_cycle: 92 },
    worst: [
      {
        gall_id: 'g1',
        post_no: 11,
        result: 'late',
        extracted_at: '2026-03-01T16:00:00Z',
        deadline: '2026-03-01T16:09:00Z',
        first_scored_at: '2026-03-01T16:30:00Z',
        minutes_late: 21,
        reason: 'missing_title',
      },
      {
        gall_id: 'g2',
        post_no: 12,
        result: 'never',
        extracted_at: '2026-03-01T17:00:00Z',
        deadline: '2026-03-01T17:10:00Z',
        first_scored_at: null,
        minutes_late: 150,
        reason: 'no_cycle',
      },
    ],
  },
  outcomes: {
    placements: 700,
    by_picker: [
      {
        picked_by: 'model',
        model_version: 'm-1',
        placements: 701,
        hidden_share: 0.071,
        deleted_share: 0.072,
        ages: [{ age_h: 6, n: 702, views: 703, up: 704, down: 705, comment_cnt: 706 }],
      },
      {
        picked_by: 'operator',
        model_version: null,
        placements: 711,
        hidden_share: 0.074,
        deleted_share: 0.073,
        ages: [{ age_h: 24, n: 712, views: 713, up: null, down: 715, comment_cnt: 716 }],
      },
    ],
    score_correlation: [
      { age_h: 1, n: 0, views: null, up: null, down: null, comment_cnt: null },
      { age_h: 48, n: 721, views: 0.11, up: -0.12, down: 0.13, comment_cnt: 0.14 },
    ],
  },
  by: {
    gallery: [
      {
        value: 'g1',
        visits: 601,
        saved: 602,
        picks: 603,
        picked_saved: 604,
        rank_percentile: { mean: 0.611, n: 612, ci95: [0.601, 0.631] },
        precision: 0.63,
        recall: 0.64,
      },
      {
        value: null,
        visits: 701,
        saved: 702,
        picks: 703,
        picked_saved: 704,
        rank_percentile: { mean: null, n: 0, ci95: null },
        precision: null,
        recall: 0.74,
      },
    ],
    tier: [
      {
        value: 'main',
        visits: 801,
        saved: 802,
        picks: 803,
        picked_saved: 804,
        rank_percentile: { mean: 0.811, n: 812, ci95: [0.801, 0.831] },
        precision: 0.83,
        recall: 0.84,
      },
    ],
    source: [],
    gallery_type: [],
    hour: [
      {
        value: '07',
        visits: 901,
        saved: 902,
        picks: 903,
        picked_saved: 904,
        rank_percentile: { mean: 0.911, n: 912, ci95: [0.901, 0.931] },
        precision: 0.93,
        recall: 0.94,
      },
    ],
    version: [],
  },
}

const agreement = {
  rank_correlation: 0.912,
  overlap: { 10: 0.71, 50: 0.72, 100: null },
  mean_signed_difference: -0.0045,
  mean_absolute_difference: 0.0123,
}

export const comparisonFixture: Comparison = {
  first: 'v-1',
  second: 'v-2',
  cycles: { count: 288, from: '20260301T1205', to: '20260302T1200', without_scored_posts: 0 },
  scores: 567_890,
  posts: 45_678,
  sources: {
    first: { response: 288, shadow: 0, replay: 0 },
    second: { response: 0, shadow: 280, replay: 8 },
  },
  lacking_heads: { first: [], second: [] },
  skipped: { first: { texts: 0, images: 0 }, second: { texts: 0, images: 0 } },
  pooled: null,
  median: agreement,
  per_cycle: [],
  movers: [],
  quality: {
    first: rankerFixture('shadow:v-1', 0.5, 400),
    second: rankerFixture('shadow:v-2', 0.4, 500),
    difference: difference('shadow:v-1', 'shadow:v-2', 0.06),
  },
}

const cycle = (
  cycle_id: string,
  score: number | null,
  rank: number | null,
  scored: number,
): CycleSummary => ({
  cycle_id,
  score,
  rank,
  scored,
  heads: {},
  reason: score === null ? 'missing_clock' : null,
  status: score === null ? 'not_scored' : 'scored',
  weights_version: `w-${scored}`,
  model_version: `m-${scored}`,
})

/** A post that has been pending twice, of which the second stay is shown. */
export const explanationFixture: Explanation = {
  gall_id: 'g1',
  post_no: 11,
  candidate: {
    title: '제목',
    created_at: '2026-03-02T01:01:00Z',
    extracted_at: '2026-03-02T01:11:00Z',
    source: 'vote',
    manual_flag: 0,
    images_in_post: 6,
    body_html: '<p>본문</p>',
  },
  last_reading: {
    observed_at: '2026-03-02T02:02:00Z',
    views: 12_345,
    up: 21,
    down: 22,
    comment_cnt: 23,
    rtb_vote: 24,
  },
  images: [{ position: 3, sha256: 'abcdef0123456789' }],
  visits: [
    {
      entered_cycle: null,
      left_cycle: '20260301T1005',
      fate: 'aged_out',
      tier: null,
      decided_at: '2026-03-01T01:01:00Z',
      known_at: '2026-03-01T01:06:00Z',
    },
    {
      entered_cycle: '20260302T1015',
      left_cycle: '20260302T1130',
      fate: 'saved',
      tier: 'night',
      decided_at: '2026-03-02T02:21:00Z',
      known_at: '2026-03-02T02:30:00Z',
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
    score_now: null,
    problem: null,
    inputs: [
      {
        kind: 'feature',
        name: 'log_views',
        shown: { form: 'count', of: 'views', unit: 'count', logs: 1 },
        value: 9.4211,
        missing: false,
        percentile: 0.87,
        median: 7.2511,
        over_median: 0.0812,
        over_missing: 0.1234,
      },
      {
        kind: 'feature',
        name: 'age_hours',
        shown: { form: 'named', of: 'created_age', unit: 'hours', logs: 0 },
        value: 12,
        missing: false,
        percentile: 0.12,
        median: 5,
        over_median: -0.0345,
        over_missing: null,
      },
      {
        kind: 'text',
        name: 'text',
        shown: { form: 'named', of: 'text', unit: 'plain', logs: 0 },
        value: null,
        missing: false,
        percentile: null,
        median: null,
        over_median: null,
        over_missing: 0.0456,
      },
      {
        kind: 'feature',
        name: 'snapshot_up',
        shown: { form: 'snapshot', of: 'recommend_up_cnt', unit: 'count', logs: 0 },
        value: null,
        missing: true,
        percentile: null,
        median: 3.5,
        over_median: -0.0567,
        over_missing: null,
      },
    ],
  },
  against: null,
  outcomes: [],
}
