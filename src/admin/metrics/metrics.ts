/**
 * The values of the metrics. Counters and histograms are updated after each request and cycle; the others are read when
 * Prometheus scrapes them, at most once a second.
 */
import { backgroundFailureChannel, type BackgroundFailure, type Semaphore } from '../../base/index.js'
import type { CallRecord, CyclePoint, Now } from '../../contract/index.js'
import { encodingChannel, type EncodingMessage } from '../../cycle/index.js'
import type { EndedRequest } from '../../server/index.js'
import { outputDroppedChannel, type OutputDropped } from '../../model/index.js'
import { commitChannel, type CommitMessage } from '../../store/index.js'
import type { EventStreams } from '../event-streams.js'
import { isCycleCall } from '../observer.js'
import { now, type NowParts } from '../page-data/now.js'
import { createMetrics, setGaugeValues, type GaugeValue, type Metrics, type ReadName } from './registry.js'
import { processRoles, rowKinds, statusLabel } from './table.js'

export interface ServiceMetricsParts extends NowParts {
  readonly streams: EventStreams
  readonly limiter: Semaphore
}

/** A scrape that comes sooner gets the text of the last one: many scrapers cost no more than one. */
const textMsMax = 1000

export class ServiceMetrics {
  readonly contentType: string
  readonly #parts: ServiceMetricsParts
  readonly #metrics: Metrics
  readonly #registry: ReturnType<typeof createMetrics>['registry']
  readonly #onCommit = (message: unknown): void => {
    const { ms, hasFailed } = message as CommitMessage
    this.#metrics.commitSeconds.observe({ result: hasFailed ? 'failed' : 'done' }, ms / 1000)
  }
  readonly #onEncoding = (message: unknown): void => {
    const { kind, ms, hasFailed } = message as EncodingMessage
    this.#metrics.encodingSeconds.observe({ kind, result: hasFailed ? 'failed' : 'done' }, ms / 1000)
  }
  readonly #onBackgroundFailure = (message: unknown): void => {
    this.#metrics.backgroundFailures.inc({ work: (message as BackgroundFailure).name })
  }
  readonly #onOutputDropped = (message: unknown): void => {
    this.#metrics.outputDropped.inc((message as OutputDropped).bytes)
  }
  #text: Promise<string> | null = null
  #textAt = -Infinity

  constructor(parts: ServiceMetricsParts) {
    const { registry, metrics } = createMetrics()
    this.#parts = parts
    this.#metrics = metrics
    this.#registry = registry
    this.contentType = registry.contentType
    commitChannel.subscribe(this.#onCommit)
    encodingChannel.subscribe(this.#onEncoding)
    backgroundFailureChannel.subscribe(this.#onBackgroundFailure)
    outputDroppedChannel.subscribe(this.#onOutputDropped)
    parts.observer.listen({
      onCycle: (point) => this.#addCycle(point),
      onRequest: (request, result) => this.#addRequest(request, result),
    })
  }

  processLost(role: string): void {
    this.#metrics.restarts.inc({ role })
  }

  /** Prometheus' text format. */
  text(): Promise<string> {
    if (this.#text === null || performance.now() - this.#textAt > textMsMax) {
      this.#textAt = performance.now()
      this.#text = this.#collect()
      this.#text.catch(() => (this.#text = null))
    }
    return this.#text
  }

  close(): void {
    commitChannel.unsubscribe(this.#onCommit)
    encodingChannel.unsubscribe(this.#onEncoding)
    backgroundFailureChannel.unsubscribe(this.#onBackgroundFailure)
    outputDroppedChannel.unsubscribe(this.#onOutputDropped)
  }

  #addRequest(request: EndedRequest, result: CallRecord['result']): void {
    const { operation, status, startedAt, endedAt, stages } = request
    const { requests, requestSeconds, cycles, stageSeconds } = this.#metrics
    const label = operation ?? 'other'
    requests.inc({ operation: label, status: statusLabel(status) })
    requestSeconds.observe({ operation: label }, (endedAt - startedAt) / 1000)
    if (isCycleCall(request)) cycles.inc({ result })
    if (result !== 'scored' || stages === null) return
    for (const [stage, stageMs] of stages.ms) stageSeconds.observe({ stage }, stageMs / 1000)
  }

  #addCycle(point: CyclePoint): void {
    const { rows, results, warnings, firstScores, lateCycles } = this.#metrics
    for (const list of rowKinds) rows.inc({ list }, point.counts[list])
    for (const { status, reason, count } of point.results)
      results.inc({ status, reason: reason ?? 'none' }, count)
    for (const kind of point.warning_kinds) warnings.inc({ kind })
    const { on_time, late, never } = point.first_scores
    for (const [result, count] of Object.entries({ on_time, late, never })) firstScores.inc({ result }, count)
    if (point.is_late) lateCycles.inc()
  }

  async #collect(): Promise<string> {
    setGaugeValues(this.#metrics, gaugeValues(this.#parts, await now(this.#parts)))
    return this.#registry.metrics()
  }
}

const checkValues = { ok: 1, warn: 0.5, fail: 0 } as const
const noScores = { p10: NaN, p50: NaN, p90: NaN, p99: NaN }

/** All gauges, and the counts that other parts of the service keep. */
function gaugeValues(
  { sources, streams, limiter }: ServiceMetricsParts,
  now: Now,
): Record<ReadName, GaugeValue> {
  const { cycles, models, store } = sources
  const held = sources.held()
  const { replication } = store
  const processes = models.versions.flatMap((version) => version.processes)
  const countOf = (role: string): number => processes.filter((one) => one.role === role).length
  return {
    firstScoreRatio: now.first_scores.share,
    missingFeatures: now.last_cycle?.missing_feature_share ?? null,
    scores: now.last_cycle?.score_quantiles ?? noScores,
    pending: now.pending,
    poolAge: secondsOrNull(Date.parse(now.time) - cycles.pool.newestCycleMs),
    lastCycle: secondsOrNull(Date.parse(now.last_cycle_received_at ?? '')),
    clockDifference: secondsOrNull(cycles.clocks.smallestMs(sources.clock()) ?? NaN),
    queue: now.queue.cycles,
    queueMax: now.queue.cycles_max,
    heldBytes: held.bytes,
    heldCalls: held.calls,
    ready: Number(now.checks.every(({ status }) => status !== 'fail')),
    owner: Number(store.role === 'owner'),
    journalUsable: replication && Number(replication.problem === null),
    journalSynchronous: replication && Number(replication.isSynchronous),
    journalEpoch: replication && replication.epoch,
    journalEntry: replication && replication.entry,
    checks: {
      clock: checkValues.ok,
      ...Object.fromEntries(now.checks.map(({ check, status }) => [check, checkValues[status]])),
    },
    build: [{ version: now.version, node: process.versions.node }],
    models: models.versions.map(({ version, role, state, kind, provider }) => ({
      version,
      role,
      state,
      kind: kind ?? 'none',
      provider: provider ?? 'none',
    })),
    weights: [{ version: now.weights_version }],
    loadFailures: models.loadFailureCounts,
    failedCycles: cycles.failures.current?.cycleCount ?? 0,
    fallback: Number(models.fallback !== null),
    processes: Object.fromEntries(processRoles.map((role) => [role, countOf(role)])),
    shadowSkips: cycles.models.shadows.skippedCount,
    textsInProgress: now.queue.texts,
    imagesQueued: now.queue.images,
    quarantined: cycles.embeddingBacklog.quarantined,
    writesQueued: store.queuedWrites,
    adminQueued: limiter.count,
    storageBytes: now.storage.size_bytes,
    freeBytes: now.storage.free_bytes,
    streams: streams.count,
    streamsDropped: streams.droppedCount,
  }
}

/** null for an unknown time. */
function secondsOrNull(ms: number): number | null {
  return Number.isFinite(ms) ? ms / 1000 : null
}
