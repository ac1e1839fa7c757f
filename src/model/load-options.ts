/**
 * What loading a model takes.
 */
import type { Codec } from '../codec/index.js'
import type { PlanOptions } from './plans.js'

export const timeLimitMsDefault = 30_000
export const latencyMsMaxDefault = 1000

export interface LoadOptions extends PlanOptions {
  readonly modelsDir: string
  /** Default: the version that `ACTIVE` names. */
  readonly version?: string
  /** For one batch; past it the process is replaced. Texts have it on top of their budget. Default 30 s. */
  readonly timeLimitMs?: number
  /** For the median batch of a full pool: a slower model fails its checks. Default 1 s. */
  readonly latencyMsMax?: number
  /** Resident memory of each process, in bytes; past it the process is replaced. Linux only. Default 4 GiB. */
  readonly processBytesMax?: number
  /** Computes the features. Default: the reference. */
  readonly codec?: Codec
  /** Cancels the load: it rejects with a `ModelDownError`, and its processes end. */
  readonly signal?: AbortSignal
}
