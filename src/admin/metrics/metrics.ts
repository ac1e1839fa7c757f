/**
 * The values of the metrics. Counters and histograms are updated after each request and cycle; gauges are read when
 * Prometheus asks, at most once a second.
 */
import { encodingChannel, type EncodingMessage } from '../../cycle/index.js'
import { commitChannel, type CommitMessage } from '../../store/index.js'
import type { HealthChecks } from '../checks.js'
import type { EventStreams } from '../event-streams.js'
import {
  isCycleCall,
  scoreQuantiles,
  type CallRecord,
  type CyclePoint,
  type Observer,
  type ScoreQuantile,
} from '../observer.js'
import { lastCycleOf, type ObservedRequest, type AdminSources } from '../sources.js'
import { createMetrics, type Metrics } from './registry.js'
import { RuntimeFigures } from './runtime.js'
import { operationLabels, otherWarning, rowKinds, statusLabel, warningLabels } from './table.js'

export interface ServiceMetricsParts {
  readonly sources: AdminSources
  readonly observer: Observer
  readonly checks: HealthChecks
  readonly streams: EventStreams
  readonly version: string
}

/** A scrape that comes sooner gets the text of the last one: many scrapers cost no more than one. */
const textMsMax = 1000

export class ServiceMetrics {
  readonly contentType: string
  readonly #parts: ServiceMetricsParts
  readonly #metrics: Metrics
  readonly #registry: ReturnType<typeof createMetrics>['registry']
  readonly #runtime: RuntimeFigures
  readonly #onCommit = (message: unknown): void => {
    const { ms, hasFailed } = message as CommitMessage
    this.#metrics.commitSeconds.observe({ result: hasFailed ? 'failed' : 'done' }, ms / 1000)
  }
  readonly #onEncoding = (message: unknown): void => {
    const { kind, ms, hasFailed } = message as EncodingMessage
    this.#metrics.encodingSeconds.observe({ kind, result: hasFailed ? 'failed' : 'done' }, ms / 1000)
  }
  #text: Promise<string> | null = null
  #textAt = -Infinity

  constructor(parts: ServiceMetricsParts) {
    const { registry, metrics } = createMetrics()
    this.#parts = parts
    this.#metrics = metrics
    this.#registry = registry
    this.contentType = registry.contentType
    this.#runtime = new RuntimeFigures(metrics)
    metrics.build.set({ version: parts.version, node: process.versions.node }, 1)
    commitChannel.subscribe(this.#onCommit)
    encodingChannel.subscribe(this.#onEncoding)
    parts.observer.listen({
      onCycle: (point) => this.#addCycle(point),
      onCall: (call, request) => this.#addCall(call, request),
    })
  }

  processLost(role: string): void {
    this.#metrics.restarts.inc({ role })
  }

  /** In the text format of Prometheus. */
  text(): Promise<string> {
    if (this.#text === null || performance.now() - this.#textAt > textMsMax) {
      this.#textAt = performance.now()
      this.#text = this.#collect().then(() => this.#registry.metrics())
      this.#text.catch(() => (this.#text = null))
    }
    return this.#text
  }

  close(): void {
    commitChannel.unsubscribe(this.#onCommit)
    encodingChannel.unsubscribe(this.#onEncoding)
    this.#runtime.close()
  }

  #addCall(call: CallRecord, { stages }: ObservedRequest): void {
    const { operation, status, ms, result } = call
    const { requests, requestSeconds, cycles, stageSeconds } = this.#metrics
    const label = operationLabels.find((one) => one === operation) ?? 'other'
    requests.inc({ operation: label, status: statusLabel(status) })
    requestSeconds.observe({ operation: label }, ms / 1000)
    if (isCycleCall(call)) cycles.inc({ result })
    if (result !== 'scored' || stages === null) return
    for (const [stage, stageMs] of stages.ms) stageSeconds.observe({ stage }, stageMs / 1000)
  }

  #addCycle(point: CyclePoint): void {
    const { rows, results, warnings, firstScores, lateCycles } = this.#metrics
    for (const list of rowKinds) rows.inc({ list }, point.counts[list])
    for (const { status, reason, count } of point.results)
      results.inc({ status, reason: reason ?? 'none' }, count)
    for (const kind of point.warning_kinds) warnings.inc({ kind: warningLabels[kind] ?? otherWarning })
    const { on_time, late, never } = point.first_scores
    for (const [result, count] of Object.entries({ on_time, late, never })) firstScores.inc({ result }, count)
    if (point.is_late) lateCycles.inc()
  }

  async #collect(): Promise<void> {
    const { checks, streams } = this.#parts
    const metrics = this.#metrics
    const found = await checks.run()
    metrics.ready.set(found.some(({ status }) => status === 'fail') ? 0 : 1)
    for (const { check, status } of found) metrics.checks.set({ check }, checkValues[status])
    const { role, replication } = this.#parts.sources.store
    metrics.owner.set(role === 'owner' ? 1 : 0)
    metrics.journalUsable.set(replication === null ? NaN : replication.problem === null ? 1 : 0)
    metrics.journalSynchronous.set(replication === null ? NaN : replication.isSynchronous ? 1 : 0)
    metrics.journalEpoch.set(replication?.epoch ?? NaN)
    metrics.journalEntry.set(replication?.entry ?? NaN)
    const { freeBytes, fileBytes } = await checks.disk.read()
    metrics.freeBytes.set(freeBytes ?? NaN)
    metrics.storageBytes.set(fileBytes ?? NaN)
    metrics.streams.set(streams.count)
    setCounter(metrics.streamsDropped, streams.droppedCount)
    this.#collectCycles()
    this.#collectModels()
    this.#runtime.collect()
  }

  #collectCycles(): void {
    const { sources, observer } = this.#parts
    const { cycles, clock, settings } = sources
    const metrics = this.#metrics
    const now = clock()
    const last = observer.points.last
    metrics.pending.set(cycles.pendingCount)
    metrics.queue.set(cycles.queuedCount)
    metrics.queueMax.set(settings().cyclesWaitingMax + 1)
    const { newestCycleMs } = cycles.pool
    metrics.poolAge.set(Number.isFinite(newestCycleMs) ? (now - newestCycleMs) / 1000 : NaN)
    metrics.lastCycle.set(Date.parse(lastCycleOf(sources)?.receivedAt ?? '') / 1000)
    metrics.firstScoreRatio.set(observer.firstScores(now).share ?? NaN)
    metrics.missingFeatures.set(last?.missing_feature_share ?? NaN)
    for (const name of Object.keys(scoreQuantiles) as ScoreQuantile[])
      metrics.scores.set({ percentile: name }, last?.score_quantiles?.[name] ?? NaN)
    const { texts, images, quarantined } = cycles.embeddingBacklog
    metrics.textsInProgress.set(texts)
    metrics.imagesQueued.set(images)
    metrics.quarantined.set(quarantined)
    setCounter(metrics.shadowSkips, cycles.models.shadows.skippedCount)
    metrics.weights.reset()
    metrics.weights.set({ version: cycles.weights.versionAt(now) }, 1)
  }

  #collectModels(): void {
    const { models } = this.#parts.sources
    const metrics = this.#metrics
    for (const [role, count] of Object.entries(models.loadFailureCounts))
      setCounter(metrics.loadFailures, count, { role })
    metrics.models.reset()
    const counts: Record<string, number> = { heads: 0, text: 0, image: 0 }
    for (const { version, role, state, kind, provider, processes } of models.versions) {
      metrics.models.set({ version, role, state, kind: kind ?? 'none', provider: provider ?? 'none' }, 1)
      for (const process of processes) counts[process.role] = (counts[process.role] ?? 0) + 1
    }
    for (const [role, count] of Object.entries(counts)) metrics.processes.set({ role }, count)
  }
}

const checkValues = { ok: 1, warn: 0.5, fail: 0 } as const

/** Of a count that another part keeps. */
function setCounter(counter: Metrics['requests'], value: number, labels: Record<string, string> = {}): void {
  counter.remove(labels)
  counter.inc(labels, value)
}
