/**
 * All metrics, one table: names, help, types, labels with all their values. The registry, the documentation and the tests
 * derive from it. Names follow the rules of Prometheus: base units, `_total` for counters. Labels are bounded, except
 * those of the info metrics, which are bounded by the versions in use. `metrics.ts` supplies the values.
 */
import { outcomeCodes } from '../../contract/index.js'
import { stageNames } from '../../cycle/index.js'
import { checkNames } from '../checks.js'

interface MetricRow {
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly name: string
  readonly help: string
  /** By label: all values, each of which has a series from the start; `open`: see above. */
  readonly labels?: Readonly<Record<string, readonly string[] | 'open'>>
  /** Upper bounds in the unit of the metric. */
  readonly buckets?: readonly number[]
}

/** Of the contract; `other`: no operation fits. */
export const operationLabels = [
  'POST /v1/cycles',
  'GET /v1/scores/{cycle_id}',
  'PUT /v1/images/{gall_id}/{post_no}/{NN}',
  'GET /v1/health',
  'POST /v1/outcomes',
  'GET /v1/weights',
  'PUT /v1/weights',
  'other',
] as const

export const statusLabels = [
  ...['200', '201', '400', '401', '404', '405', '409', '413', '415', '422', '500', '503'],
  'aborted',
] as const

/** Kinds of warnings as `warningKind` gives them, with their labels. */
export const warningLabels: Readonly<Record<string, string>> = {
  'candidate sent again with another record, the first one stays': 'candidate_changed',
  'removal of a post that is not pending': 'removal_not_pending',
  'more than one engagement row, the latest counts': 'duplicate_engagement',
  'more than one candidate_scores row, the latest counts': 'duplicate_candidate_scores',
  'engagement of a removed post, left out': 'engagement_of_removed_post',
  'text not encoded in time, scored without it': 'text_not_encoded',
  'expected images not all encoded, scored without them': 'images_not_encoded',
  'unknown field': 'unknown_field',
  'late cycle': 'late_cycle',
  'transport test': 'transport_test',
}
export const otherWarning = 'other'

export const rowKinds = ['candidates', 'engagement', 'candidate_scores', 'removals'] as const
export const cycleResults = ['scored', 'repeated', 'refused', 'failed', 'aborted'] as const
export const firstScoreResults = ['on_time', 'late', 'never'] as const
export const garbageKinds = ['minor', 'major', 'incremental', 'weakcb'] as const
const processRoles = ['heads', 'text', 'image'] as const
const modelRoles = ['active', 'shadow'] as const

const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

/** The results of a response by status and reason. */
export const resultLabels = outcomeCodes.map(({ status, reason }) => ({ status, reason: reason ?? 'none' }))

export const metricTable = {
  requests: {
    type: 'counter',
    name: 'understudy_http_requests_total',
    help: 'Requests by operation of the contract and HTTP status; aborted: the client disconnected first.',
    labels: { operation: operationLabels, status: statusLabels },
  },
  requestSeconds: {
    type: 'histogram',
    name: 'understudy_http_request_duration_seconds',
    help: 'Time from the head of a request to the end of its response, by operation.',
    labels: { operation: operationLabels },
    buckets: secondsBuckets,
  },
  cycles: {
    type: 'counter',
    name: 'understudy_cycles_total',
    help: 'Calls of POST /v1/cycles by result.',
    labels: { result: cycleResults },
  },
  lateCycles: {
    type: 'counter',
    name: 'understudy_late_cycles_total',
    help: 'Scored cycles that were older than the newest stored one.',
  },
  stageSeconds: {
    type: 'histogram',
    name: 'understudy_cycle_stage_duration_seconds',
    help: 'Time of each stage of the scored cycles; commit is the write and flush of the store.',
    labels: { stage: stageNames },
    buckets: secondsBuckets,
  },
  rows: {
    type: 'counter',
    name: 'understudy_cycle_rows_total',
    help: 'Rows received with the scored cycles, by list.',
    labels: { list: rowKinds },
  },
  results: {
    type: 'counter',
    name: 'understudy_results_total',
    help: 'Results of the scored cycles by status and reason.',
    labels: { status: 'open', reason: 'open' },
  },
  warnings: {
    type: 'counter',
    name: 'understudy_cycle_warnings_total',
    help: 'Warnings of the scored cycles by kind.',
    labels: { kind: [...Object.values(warningLabels), otherWarning] },
  },
  firstScores: {
    type: 'counter',
    name: 'understudy_first_scores_total',
    help: 'Posts by when they got their first score: within two cycles of extracted_at, later, never.',
    labels: { result: firstScoreResults },
  },
  firstScoreRatio: {
    type: 'gauge',
    name: 'understudy_first_score_ratio',
    help: 'Share of first scores in time over the last 24 hours; the target is 0.99. NaN without posts.',
  },
  missingFeatures: {
    type: 'gauge',
    name: 'understudy_missing_feature_ratio',
    help: 'Share of null counters in the last cycle.',
  },
  scores: {
    type: 'gauge',
    name: 'understudy_score',
    help: 'Percentiles of the scores of the last cycle.',
    labels: { percentile: ['p10', 'p50', 'p90', 'p99'] },
  },
  pending: {
    type: 'gauge',
    name: 'understudy_pending_posts',
    help: 'Posts that are pending.',
  },
  poolAge: {
    type: 'gauge',
    name: 'understudy_pool_age_seconds',
    help: 'Age of the newest cycle_time. NaN before the first cycle.',
  },
  lastCycle: {
    type: 'gauge',
    name: 'understudy_last_cycle_timestamp_seconds',
    help: 'When the last cycle was received, as Unix time. NaN before the first cycle.',
  },
  queue: {
    type: 'gauge',
    name: 'understudy_cycles_queued',
    help: 'Cycles in progress and waiting.',
  },
  queueMax: {
    type: 'gauge',
    name: 'understudy_cycles_queued_limit',
    help: 'Cycles that may be in progress and waiting; the next one gets 503.',
  },
  ready: {
    type: 'gauge',
    name: 'understudy_ready',
    help: '1 when no health check fails.',
  },
  checks: {
    type: 'gauge',
    name: 'understudy_check_ok',
    help: '1 for a health check without failure or warning, 0.5 for a warning, 0 for a failure.',
    labels: { check: checkNames },
  },
  build: {
    type: 'gauge',
    name: 'understudy_build_info',
    help: 'Version of the program and of Node; always 1.',
    labels: { version: 'open', node: 'open' },
  },
  models: {
    type: 'gauge',
    name: 'understudy_model_info',
    help: 'Model versions that are named or in use, with their role and state; always 1.',
    labels: { version: 'open', role: 'open', state: 'open', kind: 'open', provider: 'open' },
  },
  weights: {
    type: 'gauge',
    name: 'understudy_weights_info',
    help: 'Version of the weights in force; always 1.',
    labels: { version: 'open' },
  },
  loadFailures: {
    type: 'counter',
    name: 'understudy_model_load_failures_total',
    help: 'Loads of model versions that failed, by role of the version.',
    labels: { role: modelRoles },
  },
  restarts: {
    type: 'counter',
    name: 'understudy_model_process_losses_total',
    help: 'Model processes that ended while they served and were replaced.',
    labels: { role: processRoles },
  },
  processes: {
    type: 'gauge',
    name: 'understudy_model_processes',
    help: 'Model processes that run.',
    labels: { role: processRoles },
  },
  shadowSkips: {
    type: 'counter',
    name: 'understudy_shadow_cycles_skipped_total',
    help: 'Cycles that shadow models did not score.',
  },
  textsInProgress: {
    type: 'gauge',
    name: 'understudy_texts_encoding',
    help: 'Texts that are being encoded.',
  },
  imagesQueued: {
    type: 'gauge',
    name: 'understudy_images_queued',
    help: 'Stored images that wait to be encoded.',
  },
  quarantined: {
    type: 'gauge',
    name: 'understudy_quarantined_items',
    help: 'Texts and images that are not encoded because they end the process of the encoder.',
  },
  storageBytes: {
    type: 'gauge',
    name: 'understudy_storage_size_bytes',
    help: 'Size of the data file.',
  },
  freeBytes: {
    type: 'gauge',
    name: 'understudy_storage_free_bytes',
    help: 'Free space of the disk of the data directory.',
  },
  streams: {
    type: 'gauge',
    name: 'understudy_event_streams',
    help: 'Open event streams of the admin listener.',
  },
  streamsDropped: {
    type: 'counter',
    name: 'understudy_event_streams_dropped_total',
    help: 'Event streams that were closed because their reader was too slow.',
  },
  loopDelay: {
    type: 'gauge',
    name: 'understudy_event_loop_delay_seconds',
    help: 'Delay of the event loop since the last scrape.',
    labels: { percentile: ['p50', 'p99', 'max'] },
  },
  garbage: {
    type: 'histogram',
    name: 'understudy_gc_duration_seconds',
    help: 'Pauses of the garbage collector by kind.',
    labels: { kind: garbageKinds },
    buckets: [0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5],
  },
  heapBytes: {
    type: 'gauge',
    name: 'understudy_heap_bytes',
    help: 'JavaScript heap in use, and memory outside of it that JavaScript holds.',
    labels: { kind: ['used', 'external'] },
  },
  residentBytes: {
    type: 'gauge',
    name: 'process_resident_memory_bytes',
    help: 'Resident memory of the service, without its model processes.',
  },
  cpuSeconds: {
    type: 'counter',
    name: 'process_cpu_seconds_total',
    help: 'CPU time of the service, without its model processes.',
  },
  startTime: {
    type: 'gauge',
    name: 'process_start_time_seconds',
    help: 'Start of the process, as Unix time.',
  },
} as const satisfies Readonly<Record<string, MetricRow>>

export type MetricName = keyof typeof metricTable

/** The rows in the order of the table. */
export const metricRows: readonly MetricRow[] = Object.values(metricTable)

/** The table of docs/metrics.md. */
export function metricsAsMarkdown(): string {
  const lines = metricRows.map(({ name, type, labels = {}, help }) => {
    const names = Object.keys(labels).map((label) => `\`${label}\``)
    return `| \`${name}\` | ${type} | ${names.join(', ')} | ${help} |`
  })
  return ['| Name | Type | Labels | What it is |', '| --- | --- | --- | --- |', ...lines, ''].join('\n')
}
