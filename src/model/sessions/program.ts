/**
 * What runs in a child process that serves batches: one program per role, opened with its plan.
 */
import type { ModelLog } from '../model.js'

export interface Program<Request, Reply> {
  /** Execution provider that serves, such as `cpu`; of several graphs all distinct ones, joined by `+`. */
  readonly provider: string
  /**
   * One batch; the next begins when this one has settled. Rejects when the session fails: then the program is of no
   * further use. A text or an image that cannot be encoded is not such a failure.
   */
  run(request: Request): Promise<Reply>
  /** Releases the sessions. A child is killed without it; tests and tools that open a program call it. */
  close(): Promise<void>
}

/**
 * Opens a program: reads and hashes its files, creates the sessions, compares the graphs with the plan. Rejects with an
 * error whose message a model engineer can act on; then nothing is left open. Logs each provider that cannot serve.
 * `onOpened` is called before a first run of the graphs, which has a time limit of its own.
 */
export type OpenProgram<Plan, Request, Reply> = (
  plan: Plan,
  log: ModelLog,
  onOpened?: () => void,
) => Promise<Program<Request, Reply>>

/** Runs the probe of a program. When the probe fails, closes the program and rejects with the probe's error. */
export async function probed<P extends { probe(): Promise<void>; close(): Promise<void> }>(
  program: P,
  onOpened: (() => void) | undefined,
): Promise<P> {
  try {
    onOpened?.()
    await program.probe()
    return program
  } catch (error) {
    await program.close()
    throw error
  }
}
