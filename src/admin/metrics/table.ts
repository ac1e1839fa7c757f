/**
 * All metrics, one table: names, help, types, labels with all their values. The registry, the documentation and the tests
 * derive from it. Names follow the rules of Prometheus: base units, `_total` for counters. Labels are bounded, except
 * those of the info metrics, which are bounded by the versions in use. `metrics.ts` reads the gauges and
 * counts the rest.
 */
import { backgroundWorkNames } from '../../base/index.js'
import { operations, outcomeCodes, stageNames, warningCodes } from '../../contract/index.js'
import { heldBytesKinds, heldCallsKinds } from '../../server/index.js'
import { checkNames } from '../checks.js'

interface MetricRow {
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly name: string
  readonly help: string
  readonly labels: Labels
  /** Upper bounds of a histogram, in the unit of the metric. */
  readonly buckets: readonly number[]
}

/** All values of a label, each of which has a series from the start; `open`: see above. */
type Labels = Readonly<Record<string, readonly string[] | 'open'>>

/** Operations of the contract; `other`: no operation fits. */
const operationLabels = [...Object.values(operations).map(({ method, path }) => `${method} ${path}`), 'other']

const statusLabels = [
  ...['200', '201', '400', '401', '404', '405', '409', '413', '415', '422', '500', '503'],
  ...['aborted', 'other'],
] as const

export function statusLabel(status: number): string {
  if (status === 0) return 'aborted'
  return statusLabels.find((label) => label === String(status)) ?? 'other'
}

export const rowKinds = ['candidates', 'engagement', 'candidate_scores', 'removals'] as const
const cycleResults = ['scored', 'repeated', 'refused', 'failed', 'aborted'] as const
const firstScoreResults = ['on_time', 'late', 'never'] as const
export const processRoles = ['heads', 'text', 'image'] as const
const workResults = ['done', 'failed'] as const
const modelRoles = ['active', 'shadow'] as const

const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

/** The results of a response by status and reason. */
export const resultLabels = outcomeCodes.map(({ status, reason }) => ({ status, reason: reason ?? 'none' }))

const counter = (name: string, help: string, labels: Labels = {}) =>
  ({ type: 'counter', name, help, labels, buckets: [] }) as const
const gauge = (name: string, help: string, labels: Labels = {}) =>
  ({ type: 'gauge', name, help, labels, buckets: [] }) as const
const histogram = (name: string, help: string, labels: Labels, buckets = secondsBuckets) =>
  ({ type: 'histogram', name, help, labels, buckets }) as const

export const metricTable = {
  requests: counter(
    'understudy_http_requests_total',
    'Requests by operation of the contract and HTTP status; aborted: the client disconnected first; other: no status of the contract.',
    { operation: operationLabels, status: statusLabels },
  ),
  requestSeconds: histogram(
    'understudy_http_request_duration_seconds',
    'Time from the head of a request to the end of its response, by operation.',
    { operation: operationLabels },
  ),
  cycles: counter(
    'understudy_cycles_total',
    'Calls of POST /v1/cycles by result, without those that have no valid API key; aborted: the client disconnected, and no cycle was stored.',
    { result: cycleResults },
  ),
  lateCycles: counter(
    'understudy_late_cycles_total',
    'Scored cycles that were older than the newest stored one.',
  ),
  stageSeconds: histogram(
    'understudy_cycle_stage_duration_seconds',
    'Time of each stage of the scored cycles; commit is the write and flush of the store.',
    { stage: stageNames },
  ),
  rows: counter('understudy_cycle_rows_total', 'Rows received with the scored cycles, by list.', {
    list: rowKinds,
  }),
  results: counter('understudy_results_total', 'Results of the scored cycles by status and reason.', {
    status: 'open',
    reason: 'open',
  }),
  warnings: counter('understudy_cycle_warnings_total', 'Warnings of the scored cycles by kind.', {
    kind: warningCodes,
  }),
  firstScores: counter(
    'understudy_first_scores_total',
    'Posts by when they got their first score: within two cycles of extracted_at, later, never.',
    { result: firstScoreResults },
  ),
  firstScoreRatio: gauge(
    'understudy_first_score_ratio',
    'Share of first scores on time since the process started, of the last 24 hours at most; the target is 0.99. NaN without posts.',
  ),
  missingFeatures: gauge('understudy_missing_feature_ratio', 'Share of null counters in the last cycle.'),
  scores: gauge('understudy_score', 'Percentiles of the scores of the last cycle.', {
    percentile: ['p10', 'p50', 'p90', 'p99'],
  }),
  pending: gauge('understudy_pending_posts', 'Posts that are pending.'),
  poolAge: gauge('understudy_pool_age_seconds', 'Age of the newest cycle_time. NaN before the first cycle.'),
  lastCycle: gauge(
    'understudy_last_cycle_timestamp_seconds',
    'When the last cycle was received, as Unix time. NaN before the first cycle.',
  ),
  clockDifference: gauge(
    'understudy_clock_difference_seconds',
    'Smallest difference in the last hour between the arrival of a new cycle and its cycle_time; negative: the clock of ' +
      'the client is ahead. NaN without cycles.',
  ),
  queue: gauge('understudy_cycles_queued', 'Cycles in progress and waiting.'),
  queueMax: gauge(
    'understudy_cycles_queued_limit',
    'Cycles that may be in progress and waiting; the next one returns 503.',
  ),
  heldBytes: gauge(
    'understudy_body_bytes_held',
    'Memory of the bodies of requests and responses in progress; waiting_image: of the requests whose images wait to be checked.',
    { kind: heldBytesKinds },
  ),
  heldCalls: gauge(
    'understudy_calls_held',
    'Calls in progress; open: all; sending: with a large response; image: uploads that are processed and that wait.',
    { kind: heldCallsKinds },
  ),
  ready: gauge('understudy_ready', '1 if no health check fails.'),
  owner: gauge(
    'understudy_owner',
    '1 if this process serves the calls of its environment, 0 for a standby; always 1 without a journal.',
  ),
  journalUsable: gauge(
    'understudy_journal_usable',
    '1 if the last use of the journal succeeded. NaN without a journal.',
  ),
  journalSynchronous: gauge(
    'understudy_journal_synchronous',
    '1 if commits wait for a PostgreSQL standby. NaN without a journal.',
  ),
  journalEpoch: gauge(
    'understudy_journal_epoch',
    'Epoch of the environment, as far as this process knows: it increases with each owner. NaN without a journal.',
  ),
  journalEntry: gauge(
    'understudy_journal_entry',
    'Newest entry of the journal that the data directory contains. NaN without a journal.',
  ),
  checks: gauge(
    'understudy_check_ok',
    '1 for a health check without failure or warning, 0.5 for a warning, 0 for a failure.',
    { check: checkNames },
  ),
  build: gauge('understudy_build_info', 'Version of the program and of Node; always 1.', {
    version: 'open',
    node: 'open',
  }),
  models: gauge(
    'understudy_model_info',
    'Model versions that are named or in use, with their role and state; always 1.',
    { version: 'open', role: 'open', state: 'open', kind: 'open', provider: 'open' },
  ),
  weights: gauge('understudy_weights_info', 'Version of the weights in force; always 1.', {
    version: 'open',
  }),
  loadFailures: counter(
    'understudy_model_load_failures_total',
    'Loads of model versions that failed, by role of the version.',
    { role: modelRoles },
  ),
  failedCycles: gauge(
    'understudy_model_failed_cycles',
    'Consecutive cycles that the serving model has failed; 0 once it has scored one.',
  ),
  fallback: gauge(
    'understudy_model_fallback',
    '1 while the version that served before serves instead of one that failed its cycles or cannot be loaded.',
  ),
  restarts: counter(
    'understudy_model_process_losses_total',
    'Model processes that ended while they served and were replaced.',
    { role: processRoles },
  ),
  processes: gauge('understudy_model_processes', 'Model processes that run.', { role: processRoles }),
  shadowSkips: counter('understudy_shadow_cycles_skipped_total', 'Cycles that shadow models did not score.'),
  textsInProgress: gauge('understudy_texts_encoding', 'Texts that are being encoded.'),
  imagesQueued: gauge('understudy_images_queued', 'Stored images that wait to be encoded.'),
  quarantined: gauge(
    'understudy_quarantined_items',
    'Texts and images that are not encoded because the encoder fails on them.',
  ),
  encodingSeconds: histogram(
    'understudy_encoding_duration_seconds',
    'Time of the calls of the encoders, by kind and result; a call encodes a batch.',
    { kind: ['text', 'image'], result: workResults },
  ),
  commitSeconds: histogram(
    'understudy_storage_commit_duration_seconds',
    'Time of the transactions of the store, write and flush: cycles, images, outcomes, weights.',
    { result: workResults },
  ),
  writesQueued: gauge(
    'understudy_storage_writes_queued',
    'Writes of the store that wait for a commit or are being committed.',
  ),
  adminQueued: gauge(
    'understudy_admin_requests_queued',
    'Requests of the admin listener that read stored cycles or wait to; those that exceed the limit return 503.',
  ),
  storageBytes: gauge('understudy_storage_size_bytes', 'Size of the data file.'),
  freeBytes: gauge('understudy_storage_free_bytes', 'Free space of the disk of the data directory.'),
  backgroundFailures: counter(
    'understudy_background_failures_total',
    'Failures of work that no request waits for; each is in the log as "background work failed".',
    { work: backgroundWorkNames },
  ),
  outputDropped: counter(
    'understudy_model_output_dropped_bytes_total',
    'Bytes that model processes printed and that are not in the log: long lines are cut, and many lines left out.',
  ),
  streams: gauge('understudy_event_streams', 'Open event streams of the admin listener.'),
  streamsDropped: counter(
    'understudy_event_streams_dropped_total',
    'Event streams that were closed because their reader was too slow.',
  ),
} satisfies Readonly<Record<string, MetricRow>>

export type MetricName = keyof typeof metricTable

/** The rows in the order of the table. */
export const metricRows: readonly MetricRow[] = Object.values(metricTable)

/** The list of docs/metrics.md, which states how a name shows its type. */
export function metricsAsMarkdown(): string {
  const lines = metricRows.map(({ name, labels, help }) => {
    const names = Object.keys(labels)
    return `- \`${name}${names.length === 0 ? '' : `{${names.join(',')}}`}\`: ${help}`
  })
  return [...lines, ''].join('\n')
}
