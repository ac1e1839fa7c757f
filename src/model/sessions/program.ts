/**
 * What runs in a child process: one program per role, opened with its plan and then fed batch after batch.
 */
import type { Unavailable } from './protocol.js'

export interface Program<Request, Reply> {
  /** Execution provider that serves, such as `cpu`; of several graphs all distinct ones, joined by `+`. */
  readonly provider: string
  /**
   * One batch; the next begins when this one has settled. Rejects when the session fails: then the program is of no
   * further use. What is wrong with one record or image is no such failure.
   */
  run(request: Request): Promise<Reply>
  /** Gives the sessions back. A child is ended without it; tests and tools that open a program call it. */
  close(): Promise<void>
}

/**
 * Opens a program: files read and hashed, sessions created, graphs compared with the plan. Rejects with an error whose
 * message a model engineer can act on; then nothing is left open. `say` hears of each provider that cannot serve.
 */
export type OpenProgram<Plan, Request, Reply> = (
  plan: Plan,
  say: (unavailable: Unavailable) => void,
) => Promise<Program<Request, Reply>>

/** A program that runs its probe, or none: one that fails is closed, and what it says of itself is rejected with. */
export async function probed<P extends { probe(): Promise<void>; close(): Promise<void> }>(
  program: P,
): Promise<P> {
  try {
    await program.probe()
    return program
  } catch (error) {
    await program.close()
    throw error
  }
}
