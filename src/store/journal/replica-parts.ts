/**
 * What a process of an environment consists of, apart from its role: the journal, its view, clocks and a log.
 */
import type { Log } from '../../base/index.js'
import type { ViewParts } from './view.js'

export interface ReplicaParts extends ViewParts {
  /** Milliseconds of a clock that never jumps. */
  readonly now: () => number
  /** False: this process leaves the environment to others, for a while. */
  readonly canServe: () => Promise<boolean>
  /** Resolves after `ms`, or when `signal` is aborted. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  readonly log: Log
}
