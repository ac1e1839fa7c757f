/**
 * The metrics that are read when Prometheus scrapes them: all gauges, and the counts that other parts of the service keep.
 */
import type { Now } from '../../contract/index.js'
import type { ServerSources } from '../../server/index.js'
import type { EventStreams } from '../event-streams.js'
import type { JobLimiter } from '../routes.js'
import { processRoles, type metricTable, type MetricName } from './table.js'

export interface MetricState {
  readonly now: Now
  readonly sources: ServerSources
  readonly streams: EventStreams
  readonly limiter: JobLimiter
}

type GaugeName = {
  [Name in MetricName]: (typeof metricTable)[Name]['type'] extends 'gauge' ? Name : never
}[MetricName]
export type ReadName = GaugeName | 'loadFailures' | 'shadowSkips' | 'streamsDropped'

/**
 * A record has the values by the only label of the metric; a list has the labels of an info metric, whose value is 1.
 * null: there is no value.
 */
export type GaugeValue =
  number | null | Readonly<Record<string, number>> | readonly Readonly<Record<string, string>>[]

const checkValues = { ok: 1, warn: 0.5, fail: 0 } as const
const noScores = { p10: NaN, p50: NaN, p90: NaN, p99: NaN }

export function gaugeValues({ now, sources, streams, limiter }: MetricState): Record<ReadName, GaugeValue> {
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
