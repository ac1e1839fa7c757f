/**
 * What the admin side reads of a server. The server implements these types without knowing them.
 */
import type { CycleService, StageClock } from '../cycle/index.js'
import type { ModelLifecycle } from '../model/index.js'
import type { Settings } from '../settings/index.js'
import type { Store } from '../store/index.js'

export interface AdminSources {
  readonly store: Store
  readonly cycles: CycleService
  readonly models: ModelLifecycle
  /** The settings in force. */
  readonly settings: () => Settings
  /** Milliseconds since 1970. */
  readonly clock: () => number
  readonly log: AdminLog
}

/** The cycle that was stored last. Undefined also where the store cannot be read: a health check reports that. */
export function lastCycleOf({ cycles }: AdminSources): ReturnType<CycleService['lastCycle']> {
  try {
    return cycles.lastCycle()
  } catch {
    return undefined
  }
}

export interface AdminLog {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** The trace and the span in which a client made a request. */
export interface TraceParent {
  /** 32 hex digits. */
  readonly traceId: string
  /** 16 hex digits. */
  readonly spanId: string
  readonly flags: number
}

/** A request of the contract's port, after its response. */
export interface ObservedRequest {
  readonly method: string
  readonly path: string
  /** Method and path of the operation; null where no operation fits. */
  readonly operation: string | null
  /** 0: the client disconnected before the response. */
  readonly status: number
  readonly code: string | undefined
  readonly problem: string | undefined
  /** Milliseconds since 1970. */
  readonly receivedAtMs: number
  /** Times of `performance.now()`. */
  readonly startedAt: number
  readonly endedAt: number
  readonly bytesIn: number
  readonly bytesOut: number
  /** Of a cycle. */
  readonly stages: (StageClock & { readonly cycleId: string | null }) | null
  readonly trace: TraceParent | null
}
