/**
 * `/api/now` and `/metrics`: each figure is that of its label, in its unit. All values of the sources differ. And what one
 * check at `warn` or at `fail` means everywhere.
 */
import { describe, expect, test, vi } from 'vitest'
import { callFixture, pointFixture } from '../../test/helpers/page-fixtures.js'
import { backgroundFailureChannel, type Semaphore } from '../base/index.js'
import type { CallRecord, Check, CyclePoint, Now } from '../contract/index.js'
import { encodingChannel } from '../cycle/index.js'
import { outputDroppedChannel } from '../model/index.js'
import type { EndedRequest, ServerSources } from '../server/index.js'
import { commitChannel } from '../store/index.js'
import { HealthChecks } from './checks.js'
import type { EventStreams } from './event-streams.js'
import { ServiceMetrics } from './metrics/metrics.js'
import type { Observer, ObserverEvents } from './observer.js'
import { nextCycle, now } from './page-data/now.js'

const nowMs = Date.parse('2026-03-02T04:00:10.000Z')
const newestCycleMs = Date.parse('2026-03-02T03:50:00.000Z')
const processOf = (role: string): object => ({ role, pid: 1 })
const versions = [
  { version: 'v-1', role: 'active', state: 'serving', kind: 'trained', provider: 'cpu', placements: [], processes: [processOf('heads'), processOf('text'), processOf('text')] }, // prettier-ignore
  { version: 's-2', role: 'shadow', state: 'shadow', kind: 'trained', provider: 'cuda', placements: [], processes: [processOf('image'), processOf('image'), processOf('image')] }, // prettier-ignore
  {
    version: 'v-3',
    role: 'active',
    state: 'failed',
    kind: null,
    provider: null,
    placements: [],
    processes: [],
  },
]
const firstScores: Now['first_scores'] = {
  on_time: 31,
  late: 32,
  never: 33,
  overdue: 34,
  share: 0.975,
  target: 0.99,
}

/** A server without problems, unless some are given, whose figures all differ. */
function partsOf(problems: readonly object[] = [], givenChecks?: readonly Check[]) {
  const sources = {
    clock: () => nowMs,
    held: () => ({
      bytes: { body: 82, waiting_image: 83 },
      calls: { open: 84, sending: 86, image: 92 },
    }),
    disk: { read: () => Promise.resolve({ freeBytes: 5 * 2 ** 30, fileBytes: 3 * 2 ** 30 }) },
    settings: () => ({
      cyclesWaitingMax: 4,
      host: '127.0.0.1',
      port: 8080,
      dataDir: '/data',
      modelsDir: '/models',
    }),
    store: {
      role: 'standby',
      queuedWrites: 96,
      replication: { epoch: 61, entry: 62, problem: null, isSynchronous: false },
    },
    models: {
      versions,
      loadFailureCounts: { active: 51, shadow: 52 },
      fallback: null,
      status: { failures: [{ version: 'v-3', role: 'active', problem: 'no file', atMs: nowMs - 1000 }] },
    },
    cycles: {
      problems: () => problems,
      lastCycle: () => ({ cycleId: '20260302T1255', receivedAt: '2026-03-02T03:55:30.000Z' }),
      pool: { newestCycleMs },
      pendingCount: 4321,
      queuedCount: 2,
      embeddingBacklog: { texts: 71, images: 72, quarantined: 73 },
      weights: { inForceAt: () => ({ version: 'weights-3' }) },
      models: { shadows: { skippedCount: 74 } },
      failures: { current: { cycleCount: 78 } },
      clocks: { smallestMs: () => 77_500, refused: () => null },
    },
  } as unknown as ServerSources
  const listeners: ObserverEvents[] = []
  const observer = {
    points: { last: pointFixture(0), items: [pointFixture(0)] },
    firstScores: () => firstScores,
    listen: (listener: ObserverEvents) => listeners.push(listener),
  } as unknown as Observer
  const checks = new HealthChecks(sources)
  if (givenChecks !== undefined) Object.assign(checks, { run: () => Promise.resolve(givenChecks) })
  const streams = { count: 75, droppedCount: 76 } as unknown as EventStreams
  const emit = (event: { readonly point?: CyclePoint; readonly call?: CallRecord }): void => {
    for (const { onCycle, onRequest } of listeners) {
      if (event.point !== undefined) onCycle?.(event.point)
      if (event.call !== undefined) onRequest?.(endedRequest(event.call), event.call.result)
    }
  }
  const limiter = { count: 97 } as unknown as Semaphore
  return { sources, observer, checks, streams, limiter, version: '0.9.1', emit }
}

/** The request that a call was made of. */
function endedRequest({ operation, status, code, ms, stages_ms }: CallRecord): EndedRequest {
  const stages = { ms: new Map(Object.entries(stages_ms)) }
  const request = { operation, status, code: code ?? undefined, startedAt: 0, endedAt: ms, stages }
  return request as unknown as EndedRequest
}

async function seriesOf(metrics: ServiceMetrics): Promise<Record<string, number>> {
  const lines = (await metrics.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  )
}

test('/api/now has each figure under its name', async () => {
  const { started_at, memory, ...figures } = await now(partsOf())
  expect(Date.parse(started_at)).toBe(Math.floor(performance.timeOrigin))
  expect(memory.resident_bytes).toBeGreaterThan(memory.heap_used_bytes)
  expect(figures).toEqual({
    time: '2026-03-02T04:00:10.000Z',
    version: '0.9.1',
    status: 'ok',
    pending: 4321,
    checks: expect.any(Array) as Check[],
    model: { version: 'v-1', kind: 'trained', provider: 'cpu' },
    loading_version: null,
    shadows: ['s-2'],
    failed_versions: [
      {
        version: 'v-3',
        kind: 'load',
        role: 'active',
        problem: 'no file',
        at: '2026-03-02T04:00:09.000Z',
        commands: [expect.stringContaining('verify'), expect.stringContaining('activate')],
      },
    ],
    weights_version: 'weights-3',
    last_cycle: pointFixture(0),
    first_cycle_command: null,
    last_cycle_id: '20260302T1255',
    last_cycle_received_at: '2026-03-02T03:55:30.000Z',
    next_cycle: { due_at: '2026-03-02T03:55:00.000Z', overdue_from: '2026-03-02T03:56:00.000Z' },
    first_scores: firstScores,
    queue: { cycles: 2, cycles_max: 5, texts: 71, images: 72 },
    storage: { size_bytes: 3 * 2 ** 30, free_bytes: 5 * 2 ** 30 },
  })
})

describe('the next cycle', () => {
  const dueMs = newestCycleMs + 5 * 60_000
  const halfHour = 30 * 60_000

  test('is due five minutes after the newest one, and overdue a minute later', () => {
    expect(nextCycle(newestCycleMs, newestCycleMs)).toEqual({
      due_at: '2026-03-02T03:55:00.000Z',
      overdue_from: '2026-03-02T03:56:00.000Z',
    })
  })

  test.each([-halfHour, -halfHour + 1, halfHour - 1, halfHour])(
    'is never overdue if the last one arrived half an hour from it, or more: %d ms',
    (ms) => {
      const isOverdueLater = nextCycle(newestCycleMs, dueMs + ms)?.overdue_from !== null
      expect(isOverdueLater).toBe(Math.abs(ms) < halfHour)
    },
  )

  test('is unknown before the first cycle', () => {
    expect(nextCycle(-Infinity, newestCycleMs)).toBeNull()
  })
})

describe('/metrics', () => {
  test('has each figure that it reads under its name, in its unit', async () => {
    const metrics = new ServiceMetrics(partsOf())
    const series = await seriesOf(metrics)
    metrics.close()
    expect(series).toMatchObject({
      understudy_first_score_ratio: 0.975,
      understudy_missing_feature_ratio: 0.07,
      'understudy_score{percentile="p10"}': 0.1,
      'understudy_score{percentile="p50"}': 0.5,
      'understudy_score{percentile="p90"}': 0.9,
      'understudy_score{percentile="p99"}': 0.99,
      understudy_pending_posts: 4321,
      understudy_pool_age_seconds: 610,
      understudy_last_cycle_timestamp_seconds: Date.parse('2026-03-02T03:55:30.000Z') / 1000,
      understudy_clock_difference_seconds: 77.5,
      understudy_model_failed_cycles: 78,
      understudy_model_fallback: 0,
      understudy_cycles_queued: 2,
      understudy_cycles_queued_limit: 5,
      'understudy_body_bytes_held{kind="body"}': 82,
      'understudy_body_bytes_held{kind="waiting_image"}': 83,
      'understudy_calls_held{kind="open"}': 84,
      'understudy_calls_held{kind="sending"}': 86,
      'understudy_calls_held{kind="image"}': 92,
      understudy_storage_writes_queued: 96,
      understudy_admin_requests_queued: 97,
      understudy_owner: 0,
      understudy_journal_usable: 1,
      understudy_journal_synchronous: 0,
      understudy_journal_epoch: 61,
      understudy_journal_entry: 62,
      [`understudy_build_info{version="0.9.1",node="${process.versions.node}"}`]: 1,
      'understudy_model_info{version="v-1",role="active",state="serving",kind="trained",provider="cpu"}': 1,
      'understudy_model_info{version="s-2",role="shadow",state="shadow",kind="trained",provider="cuda"}': 1,
      'understudy_model_info{version="v-3",role="active",state="failed",kind="none",provider="none"}': 1,
      'understudy_weights_info{version="weights-3"}': 1,
      'understudy_model_load_failures_total{role="active"}': 51,
      'understudy_model_load_failures_total{role="shadow"}': 52,
      'understudy_model_processes{role="heads"}': 1,
      'understudy_model_processes{role="text"}': 2,
      'understudy_model_processes{role="image"}': 3,
      understudy_shadow_cycles_skipped_total: 74,
      understudy_texts_encoding: 71,
      understudy_images_queued: 72,
      understudy_quarantined_items: 73,
      understudy_storage_size_bytes: 3 * 2 ** 30,
      understudy_storage_free_bytes: 5 * 2 ** 30,
      understudy_event_streams: 75,
      understudy_event_streams_dropped_total: 76,
    })
    expect(series['process_start_time_seconds']! - performance.timeOrigin / 1000).toBeCloseTo(0, -1)
    expect(series).toHaveProperty('nodejs_eventloop_lag_p99_seconds')
    const { rss } = process.memoryUsage()
    expect(series['process_resident_memory_bytes']! / rss).toBeCloseTo(1, 0)
    // The count starts with the registry.
    expect(series['process_cpu_seconds_total']).toBeGreaterThan(0)
  })

  test('counts calls and cycles under their labels; durations grow by seconds', async () => {
    const parts = partsOf()
    const metrics = new ServiceMetrics(parts)
    parts.emit({
      point: { ...pointFixture(0), is_late: true, warning_kinds: ['late_cycle', 'unknown_field'] },
    })
    parts.emit({ call: callFixture })
    parts.emit({ call: { ...callFixture, result: 'refused', status: 422, ms: 3000 } })
    parts.emit({ call: { ...callFixture, operation: 'GET /v1/weights', result: 'done', ms: 40 } })
    parts.emit({ call: { ...callFixture, operation: null, result: 'refused', status: 404, ms: 50 } })
    parts.emit({ call: { ...callFixture, code: 'unauthorized', result: 'refused', status: 401, ms: 0 } })
    commitChannel.publish({ ms: 1250, hasFailed: false })
    commitChannel.publish({ ms: 2250, hasFailed: true })
    encodingChannel.publish({ kind: 'text', ms: 350, hasFailed: false })
    encodingChannel.publish({ kind: 'image', ms: 450, hasFailed: true })
    backgroundFailureChannel.publish({ name: 'image encoding', error: new Error('it failed') })
    outputDroppedChannel.publish({ bytes: 4567 })
    metrics.processLost('text')
    const series = await seriesOf(metrics)
    metrics.close()
    const cycles = 'operation="POST /v1/cycles"'
    expect(series).toMatchObject({
      [`understudy_http_requests_total{${cycles},status="200"}`]: 1,
      [`understudy_http_requests_total{${cycles},status="422"}`]: 1,
      [`understudy_http_requests_total{${cycles},status="401"}`]: 1,
      'understudy_http_requests_total{operation="GET /v1/weights",status="200"}': 1,
      'understudy_http_requests_total{operation="other",status="404"}': 1,
      [`understudy_http_request_duration_seconds_sum{${cycles}}`]: 3.2345,
      [`understudy_http_request_duration_seconds_bucket{le="0.25",${cycles}}`]: 2,
      [`understudy_http_request_duration_seconds_bucket{le="0.1",${cycles}}`]: 1,
      'understudy_http_request_duration_seconds_sum{operation="GET /v1/weights"}': 0.04,
      'understudy_http_request_duration_seconds_sum{operation="other"}': 0.05,
      // Calls without a key are not those of the client.
      'understudy_cycles_total{result="scored"}': 1,
      'understudy_cycles_total{result="refused"}': 1,
      understudy_late_cycles_total: 1,
      // Only scored cycles have stages that count.
      ...Object.fromEntries(
        Object.entries(callFixture.stages_ms).map(([stage, ms]) => [
          `understudy_cycle_stage_duration_seconds_sum{stage="${stage}"}`,
          expect.closeTo(ms / 1000, 9) as number,
        ]),
      ),
      'understudy_cycle_rows_total{list="candidates"}': 501,
      'understudy_cycle_rows_total{list="engagement"}': 502,
      'understudy_cycle_rows_total{list="candidate_scores"}': 503,
      'understudy_cycle_rows_total{list="removals"}': 504,
      'understudy_results_total{status="scored",reason="none"}': 4100,
      'understudy_results_total{status="waiting",reason="none"}': 120,
      'understudy_results_total{status="not_scored",reason="missing_title"}': 61,
      'understudy_results_total{status="not_scored",reason="missing_clock"}': 0,
      'understudy_results_total{status="not_scored",reason="post_unavailable"}': 40,
      'understudy_cycle_warnings_total{kind="late_cycle"}': 1,
      'understudy_cycle_warnings_total{kind="unknown_field"}': 1,
      'understudy_first_scores_total{result="on_time"}': 31,
      'understudy_first_scores_total{result="late"}': 32,
      'understudy_first_scores_total{result="never"}': 33,
      'understudy_storage_commit_duration_seconds_sum{result="done"}': 1.25,
      'understudy_storage_commit_duration_seconds_sum{result="failed"}': 2.25,
      'understudy_encoding_duration_seconds_sum{kind="text",result="done"}': 0.35,
      'understudy_encoding_duration_seconds_sum{kind="image",result="failed"}': 0.45,
      'understudy_background_failures_total{work="image encoding"}': 1,
      'understudy_background_failures_total{work="text encoding"}': 0,
      understudy_model_output_dropped_bytes_total: 4567,
      'understudy_model_process_losses_total{role="text"}': 1,
      'understudy_model_process_losses_total{role="heads"}': 0,
    })
  })

  test('is read again after a failure, without a delay', async () => {
    const parts = partsOf()
    vi.spyOn(parts.checks, 'run').mockRejectedValueOnce(new Error('it failed'))
    const metrics = new ServiceMetrics(parts)
    await expect(metrics.text()).rejects.toThrow('it failed')
    expect(await metrics.text()).toContain('understudy_ready 1')
    metrics.close()
  })

  const okChecks: readonly Check[] = (['service', 'model', 'storage', 'last_cycle', 'disk'] as const).map(
    (check) => ({ check, status: 'ok', reasons: [] }),
  )
  test.each([
    ['ok', 1, 1],
    ['warn', 0.5, 1],
    ['fail', 0, 0],
  ] as const)(
    'a check at %s has the value %d, and the service is ready: %d',
    async (status, value, ready) => {
      for (const { check } of okChecks) {
        const checks = okChecks.map((one) => (one.check === check ? { ...one, status } : one))
        const metrics = new ServiceMetrics(partsOf([], checks))
        const series = await seriesOf(metrics)
        metrics.close()
        expect(series['understudy_ready'], check).toBe(ready)
        for (const one of okChecks)
          expect(series[`understudy_check_ok{check="${one.check}"}`], check).toBe(
            one.check === check ? value : 1,
          )
        // It is a check only while it warns.
        expect(series['understudy_check_ok{check="clock"}']).toBe(1)
      }
    },
  )
})
