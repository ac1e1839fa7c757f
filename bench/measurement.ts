/**
 * The result of a scenario: one row of the table, with details.
 */
import { summarize, sum, type LatencySummary } from './statistics.js'
import type { StageFigures, Usage } from './server-under-test.js'

export interface Measurement {
  readonly scenario: string
  readonly latencyMs: LatencySummary
  readonly perSecond: number
  /** Bodies in both directions, 10^6 bytes per second. */
  readonly megabytesPerSecond: number
  /** CPU time of all threads of the server. Null if the system does not report it. */
  readonly serverCpuMsPerRequest: number | null
  readonly serverRssPeakMib: number | null
  /** CPU utilisation of the client: near 1, the client limits the figures. */
  readonly clientBusyShare: number
  readonly details: MeasurementDetails
}

export interface MeasurementDetails {
  readonly requestBytes?: number
  readonly responseBytes?: number
  /** Resident memory of the server, sampled at equal intervals. */
  readonly rssMib?: readonly number[]
  readonly stages?: StageFigures
  readonly floor?: FloorFigures
  readonly throughput?: ThroughputFigures
  readonly note?: string
}

/** One row of the throughput scenario. */
export interface ThroughputFigures {
  readonly operation: string
  readonly connectionCount: number
  /** Requests per second of a bare server with the same bytes. */
  readonly floorPerSecond: number
}

/** Medians, in milliseconds, of the work that no server can avoid. */
export interface FloorFigures {
  /** The same bytes in both directions through a bare uWebSockets.js app, measured by the same client. */
  readonly transportMs: number
  /** simdjson On-Demand over the request; see `walkNote`. */
  readonly walkMs: number
  readonly walkNote: string
  /** The ONNX session alone. */
  readonly inferMs: number
  /** One write and fdatasync of the compressed request and the response, into blocks that exist. */
  readonly writeMs: number
  /** The same at the end of a file that grows, as the service's does until it reuses pages; not in the total. */
  readonly growingWriteMs: number
  readonly totalMs: number
  /** Measured median divided by the total. */
  readonly ratio: number
}

export interface RunFigures {
  readonly scenario: string
  readonly samplesMs: readonly number[]
  /** Time during which at least one request was in progress, in seconds. */
  readonly busyS: number
  readonly bytes: number
  readonly clientBusyShare: number
  readonly before: Usage
  readonly after: Usage
  readonly details?: MeasurementDetails
}

export function measurementOf(run: RunFigures): Measurement {
  const { samplesMs, before, after } = run
  const cpuMs = before.cpuMs === null || after.cpuMs === null ? null : after.cpuMs - before.cpuMs
  return {
    scenario: run.scenario,
    latencyMs: summarize(samplesMs),
    perSecond: samplesMs.length / run.busyS,
    megabytesPerSecond: run.bytes / 1e6 / run.busyS,
    serverCpuMsPerRequest: cpuMs === null ? null : cpuMs / samplesMs.length,
    serverRssPeakMib: after.rssPeakMib,
    clientBusyShare: run.clientBusyShare,
    details: run.details ?? {},
  }
}

/** Total time of sequential calls, in seconds. */
export function sequentialS(samplesMs: readonly number[]): number {
  return sum(samplesMs) / 1000
}
