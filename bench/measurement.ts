/**
 * What a scenario gives: one row of the table, and the details behind it.
 */
import { summarize, sum, type LatencySummary } from './statistics.js'
import type { StageReport, Usage } from './server-under-test.js'

export interface Measurement {
  readonly scenario: string
  readonly latencyMs: LatencySummary
  readonly perSecond: number
  /** Bodies in and out, 10^6 bytes a second. */
  readonly megabytesPerSecond: number
  /** CPU time of the server, all its threads. Null where the system does not tell. */
  readonly serverCpuMsPerRequest: number | null
  readonly serverRssPeakMib: number | null
  /** Of the server's whole life. */
  readonly eventLoopDelayP99Ms: number | null
  /** Part of the time in which the client computed: near 1, the figures are the client's. */
  readonly clientBusyShare: number
  readonly details: MeasurementDetails
}

export interface MeasurementDetails {
  readonly requestBytes?: number
  readonly responseBytes?: number
  /** Resident memory of the server, at even distances over the run. */
  readonly rssMib?: readonly number[]
  readonly stages?: StageReport['stages_ms']
  readonly floor?: FloorFigures
  readonly note?: string
}

/** Medians, in milliseconds, of what a cycle cannot do without. */
export interface FloorFigures {
  /** The same bytes in and out through a bare uWebSockets.js app, as the same client sees it. */
  readonly transportMs: number
  /** simdjson On-Demand over the request; see `walkNote`. */
  readonly walkMs: number
  readonly walkNote: string
  /** The ONNX session alone. */
  readonly inferMs: number
  /** One write and fdatasync of the compressed request and the response. */
  readonly writeMs: number
  readonly totalMs: number
  /** Measured median divided by the total. */
  readonly ratio: number
}

export interface RunFigures {
  readonly scenario: string
  readonly samplesMs: readonly number[]
  /** Time that the requests took, in seconds; those in parallel count once. */
  readonly busyS: number
  readonly bytes: number
  readonly clientBusyShare: number
  readonly before: Usage
  readonly after: Usage
  readonly report: StageReport | null
  readonly details?: MeasurementDetails
}

export function measurementOf(run: RunFigures): Measurement {
  const { samplesMs, before, after, report } = run
  const cpuMs = before.cpuMs === null || after.cpuMs === null ? null : after.cpuMs - before.cpuMs
  return {
    scenario: run.scenario,
    latencyMs: summarize(samplesMs),
    perSecond: samplesMs.length / run.busyS,
    megabytesPerSecond: run.bytes / 1e6 / run.busyS,
    serverCpuMsPerRequest: cpuMs === null ? null : cpuMs / samplesMs.length,
    serverRssPeakMib: after.rssPeakMib ?? (report === null ? null : report.rss_peak_bytes / 2 ** 20),
    eventLoopDelayP99Ms: report?.event_loop_delay_ms.p99 ?? null,
    clientBusyShare: run.clientBusyShare,
    details: run.details ?? {},
  }
}

/** Seconds that calls made one after the other took. */
export function sequentialS(samplesMs: readonly number[]): number {
  return sum(samplesMs) / 1000
}
