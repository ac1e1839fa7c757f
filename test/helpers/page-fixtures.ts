/**
 * Responses of the admin listener in which all values differ: a figure under the wrong label is seen.
 */
import type {
  CallRecord,
  CyclePoint,
  LeftPosts,
  ModelFacts,
  Models,
  Now,
  Picks,
  PostDetails,
  StoredResponse,
} from '../../src/contract/index.js'

/** 13:00:10 in Korea on 2 March 2026. */
const time = '2026-03-02T04:00:10.000Z'

/** The n-th cycle of a chart. */
export function pointFixture(n: number): CyclePoint {
  const stages = ['receive', 'decode', 'wait', 'plan', 'features', 'infer', 'encode', 'commit', 'send']
  return {
    cycle_id: n === 0 ? '20260302T1255' : '20260302T1300',
    cycle_time: n === 0 ? '2026-03-02T12:55:00+09:00' : '2026-03-02T13:00:00+09:00',
    received_at: '2026-03-02T03:55:30.000Z',
    is_late: false,
    ms: 1234.5 + n,
    stages_ms: Object.fromEntries(stages.map((name, i) => [name, 10 + i + n])),
    pending: 4321,
    counts: {
      candidates: 501,
      engagement: 502,
      candidate_scores: 503,
      removals: 504,
      scored_now: 4100 + n,
      waiting: 120 + n,
      not_scored: 101 + n,
      results: 4321,
    },
    results: [
      { status: 'scored', reason: null, count: 4100 + n },
      { status: 'waiting', reason: null, count: 120 + n },
      { status: 'not_scored', reason: 'missing_title', count: 61 + n },
      { status: 'not_scored', reason: 'missing_clock', count: 0 },
      { status: 'not_scored', reason: 'post_unavailable', count: 40 + n },
    ],
    missing_feature_share: 0.07 + n / 1000,
    score_quantiles: { p10: 0.1 + n / 1000, p50: 0.5 + n / 1000, p90: 0.9 + n / 1000, p99: 0.99 + n / 1000 },
    first_scores: { on_time: 31, late: 32, never: 33, overdue: 34 },
    model_version: 'serving-7',
    weights_version: 'weights-3',
    warning_kinds: [],
  }
}

export const nowFixture: Now = {
  time,
  started_at: '2026-03-02T02:00:00.000Z',
  version: '0.9.1',
  status: 'degraded',
  checks: [
    { check: 'service', status: 'ok', reasons: [{ code: 'accepts_requests' }] },
    {
      check: 'model',
      status: 'warn',
      reasons: [
        { code: 'model_serves' },
        { code: 'version_not_loaded', version: 'v-bad', problem: 'no file' },
      ],
    },
    { check: 'storage', status: 'ok', reasons: [{ code: 'storage_writable' }] },
    { check: 'last_cycle', status: 'fail', reasons: [{ code: 'no_cycle' }] },
    { check: 'disk', status: 'ok', reasons: [{ code: 'disk_free', free_mib: 5120 }] },
  ],
  model: { version: 'serving-7', kind: 'trained', provider: 'cpu' },
  loading_version: null,
  shadows: ['shadow-8', 'shadow-9'],
  failed_versions: [
    {
      version: 'v-bad',
      kind: 'load',
      role: 'active',
      problem: 'no such file',
      at: '2026-03-02T03:31:00.000Z',
      commands: ['verify v-bad', 'activate serving-7'],
    },
    {
      version: 's-bad',
      kind: 'load',
      role: 'shadow',
      problem: 'bad graph',
      at: '2026-03-02T03:32:00.000Z',
      commands: ['verify s-bad'],
    },
  ],
  weights_version: 'weights-3',
  pending: 4321,
  last_cycle: pointFixture(0),
  first_cycle_command: null,
  last_cycle_id: '20260302T1255',
  last_cycle_received_at: '2026-03-02T03:55:30.000Z',
  next_cycle: { due_at: '2026-03-02T04:00:00.000Z', overdue_from: '2026-03-02T04:01:00.000Z' },
  first_scores: { on_time: 1950, late: 21, never: 12, overdue: 17, share: 0.975, target: 0.99 },
  queue: { cycles: 2, cycles_max: 5, texts: 31, images: 1 },
  storage: { size_bytes: 3 * 2 ** 30, free_bytes: 5 * 2 ** 30 },
  memory: { resident_bytes: 700 * 2 ** 20, heap_used_bytes: 300 * 2 ** 20 },
}

const countsFixture = {
  candidates: 801,
  engagement: 802,
  candidate_scores: 803,
  removals: 804,
  scored_now: 805,
  waiting: 806,
  not_scored: 807,
  results: 808,
}

export const callFixture: CallRecord = {
  id: 71,
  at: '2026-03-02T03:57:08.000Z',
  method: 'POST',
  path: '/v1/cycles',
  operation: 'POST /v1/cycles',
  status: 200,
  result: 'scored',
  cycle_id: '20260302T1255',
  code: null,
  problem: null,
  ms: 234.5,
  stages_ms: { receive: 21, decode: 22, wait: 23, plan: 24, features: 25, infer: 26, encode: 27, commit: 28 },
  counts: countsFixture,
  warnings: [
    { code: 'late_cycle', count: null, detail: 'w1' },
    { code: 'unknown_field', count: 3, detail: 'w2' },
  ],
  is_late: true,
  model_version: 'model-5',
  weights_version: 'weights-6',
  bytes_in: 5 * 2 ** 20,
  bytes_out: 3 * 2 ** 10,
  trace_id: 'trace-9',
}

const entry = (cycle_id: string, n: number): PostDetails['timeline'][number] => ({
  cycle_id,
  cycle_time: `2026-03-02T12:${cycle_id.slice(-2)}:00+09:00`,
  model_version: `m-${n}`,
  score: n / 100,
  rank: 81 - n,
  of: 138 + n,
  counters: { views: 100 * n, up: 10 * n + 1, comment_cnt: 10 * n + 2, down: 10 * n + 3 },
})

export const postFixture: PostDetails = {
  gall_id: '갤',
  post_no: 77,
  source: 'keyword',
  age_s: 8100,
  created_at: '2026-03-02T01:01:00Z',
  extracted_at: '2026-03-02T01:11:00Z',
  score: 0.654,
  rank: 9,
  status: 'scored',
  reason: null,
  p_views: 0.11,
  p_comments: 0.22,
  p_up: 0.33,
  downvote_share: 0.044,
  observed_at: '2026-03-02T03:07:00Z',
  counters: { views: 54_321, up: 61, down: 62, comment_cnt: 63, rtb_vote: 64 },
  rates_per_hour: { views: 65, up: 6.1, down: -6.2, comment_cnt: 0, rtb_vote: 6.4 },
  images: [
    { position: 1, sha256: '1111111111111111' },
    { position: 4, sha256: '4444444444444444' },
  ],
  snapshot: {},
  timeline: [entry('20260302T1205', 70), entry('20260302T1210', 71), entry('20260302T1215', 72)],
  candidate: {
    gall_id: '갤',
    post_no: 77,
    title: '대기 중',
    source: 'keyword',
    manual_flag: 0,
    images_in_post: 5,
    created_at: '2026-03-02T01:01:00Z',
    extracted_at: '2026-03-02T01:11:00Z',
    body_html: '<p>본문</p>',
  },
}

export const picksFixture: Picks = {
  cycle_id: '20260302T1255',
  model_version: 'serving-7',
  weights_version: 'weights-3',
  pending: 4321,
  scored: 4100,
  matching: 2,
  offset: 0,
  galleries: ['g1', 'g2'],
  picks: [
    {
      gall_id: 'g1',
      post_no: 31,
      title: '첫째',
      source: 'vote',
      age_s: 13_320,
      created_at: null,
      extracted_at: null,
      observed_at: null,
      score: 0.812,
      rank: 5,
      status: 'scored',
      reason: null,
      p_views: 0.15,
      p_comments: 0.25,
      p_up: 0.35,
      downvote_share: 0.045,
      counters: { views: 12_300, up: 41, down: 42, comment_cnt: 43 },
      rates_per_hour: { views: 1250, up: 4.1, down: -4.2, comment_cnt: 0 },
      images: [{ position: 2, sha256: '2222222222222222' }],
      sparkline: [0.1, 0.8],
    },
    {
      gall_id: 'g2',
      post_no: 32,
      title: '',
      source: 'score',
      age_s: null,
      created_at: null,
      extracted_at: null,
      observed_at: null,
      score: null,
      rank: null,
      status: 'not_scored',
      reason: 'missing_clock',
      counters: {},
      rates_per_hour: {},
      images: [],
      sparkline: [null, null],
    },
  ],
  saves: [
    {
      cycle_id: '20260302T1250',
      gall_id: 'g1',
      post_no: 51,
      title: '저장된 글',
      tier: 'main',
      score: 0.777,
      rank: 6,
      of: 901,
    },
    {
      cycle_id: '20260302T1245',
      gall_id: 'g2',
      post_no: 52,
      title: null,
      tier: null,
      score: null,
      rank: null,
      of: 902,
    },
  ],
  started_at: '2026-03-02T02:00:00.000Z',
}

export const storedFixture: StoredResponse = {
  cycle_id: '20260302T1255',
  cycle_time: '2026-03-02T12:55:00+09:00',
  received_at: '2026-03-02T03:55:31Z',
  scored_at: '2026-03-02T03:55:32Z',
  model_version: 'model-5',
  weights_version: 'weights-6',
  missing_feature_share: 0.083,
  counts: countsFixture,
  warnings: [{ code: 'late_cycle', count: null, detail: 'w1' }],
  reasons: [
    { reason: 'missing_title', count: 809 },
    { reason: 'missing_clock', count: 0 },
  ],
}

const commandsOf = (version: string): ModelFacts['commands'] => ({
  verify: `verify ${version}`,
  inspect: `inspect ${version}`,
  shadow: `shadow ${version}`,
  activate: `activate ${version}`,
})

function modelFixture(version: string, over: Partial<ModelFacts> = {}): ModelFacts {
  return {
    version,
    uses: [],
    failure: null,
    changed: null,
    problem: null,
    kind: 'trained',
    provenance: null,
    note: null,
    heads: [],
    features: [],
    reads: [],
    memory_bytes: null,
    predict_ms: null,
    commands: commandsOf(version),
    ...over,
  }
}

export const modelsFixture: Models = {
  fallback: {
    version: 'v-now',
    cause: 'cycles',
    failed: 'v-bad',
    problem: 'no memory',
    at: '2026-03-02T03:32:00Z',
  },
  serving: 'v-now',
  previous: 'v-old',
  models_dir: '/srv/models',
  problem: null,
  shadow_cycles_skipped: 13,
  models: [
    modelFixture('v-old', { memory_bytes: 100 * 2 ** 20 }),
    modelFixture('v-bad', {
      uses: [{ role: 'active', state: 'failed', provider: null }],
      failure: {
        version: 'v-bad',
        kind: 'load',
        role: 'active',
        problem: 'no file',
        at: '2026-03-02T03:31:00Z',
      },
    }),
    modelFixture('v-next', {
      uses: [{ role: 'shadow', state: 'shadow', provider: 'cuda' }],
      kind: 'transport-test',
      changed: 'heads.onnx differs',
    }),
    modelFixture('v-now', {
      uses: [{ role: 'active', state: 'serving', provider: 'cpu' }],
      heads: ['p_views', 'p_up'],
      features: ['f1', 'f2', 'f3'],
      reads: ['text', 'images'],
      note: 'a note',
      memory_bytes: 500 * 2 ** 20,
      predict_ms: { cycles: 287, p50: 11.5, p99: 29.5 },
      provenance: { trained_on: 'march data', git_commit: 'abc123' },
    }),
    modelFixture('v-broken', { problem: 'manifest.json: no JSON' }),
  ],
}

export const leftFixture: LeftPosts = {
  posts: [
    {
      cycle_id: '20260302T1250',
      gall_id: 'g3',
      post_no: 61,
      title: '나간 글',
      reason: 'saved',
      tier: 'main',
      decided_at: '2026-03-02T03:49:00Z',
    },
  ],
  matching: 1,
  searched: 400,
}
