/**
 * What runs in a child process that serves batches: one program per role, opened with its plan. The process releases its
 * sessions when it ends.
 */
import type { Log } from '../../base/index.js'
import type { Placement } from './placement.js'
import type { Ports } from './ports.js'

export interface Program<Request, Reply> {
  /** One per graph. */
  readonly placements: readonly Placement[]
  /** One per graph, in the same order. */
  readonly ports: readonly Ports[]
  /**
   * One batch; the next begins when this one has settled. Rejects when the session fails: then the program is of no
   * further use. A text or an image that cannot be encoded is not such a failure.
   */
  run(request: Request): Promise<Reply>
}

/**
 * Opens a program: reads and hashes its files, creates the sessions, compares the graphs with the plan. Rejects with an
 * error whose message a model engineer can act on. Logs each provider that cannot serve. `onOpened` is called before the
 * first runs of a graph with a provider, which have a separate time limit.
 */
export type OpenProgram<Plan, Request, Reply> = (
  plan: Plan,
  log: Log,
  onOpened?: () => void,
) => Promise<Program<Request, Reply>>
