/**
 * What runs in a child process that serves batches: one program per role, opened with its plan. The process releases its
 * sessions when it ends.
 */
import type { Log } from '../../base/index.js'

export interface Program<Request, Reply> {
  /** Execution provider that serves, such as `cpu`; for several graphs, the distinct providers joined by `+`. */
  readonly provider: string
  /**
   * One batch; the next begins when this one has settled. Rejects when the session fails: then the program is of no
   * further use. A text or an image that cannot be encoded is not such a failure.
   */
  run(request: Request): Promise<Reply>
}

/**
 * Opens a program: reads and hashes its files, creates the sessions, compares the graphs with the plan. Rejects with an
 * error whose message a model engineer can act on. Logs each provider that cannot serve. `onOpened` is called before a
 * first run of the graphs, which has a separate time limit.
 */
export type OpenProgram<Plan, Request, Reply> = (
  plan: Plan,
  log: Log,
  onOpened?: () => void,
) => Promise<Program<Request, Reply>>
