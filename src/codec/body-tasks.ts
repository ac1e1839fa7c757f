/**
 * Work on bodies that may take long: an intentionally invalid body takes up to half a second to examine, and two that
 * are made to be slow take several to compare. Small bodies are handled immediately, large ones in a worker thread. Both ways
 * give the same values and the same errors.
 */
import { kibibyte } from '../base/index.js'
import { ServiceError, type FieldProblem, type Refusal } from '../contract/index.js'
import { bodyDifferences } from './body-differences.js'
import { decodeCycle } from './decode-cycle.js'
import { parseOutcomes, parseWeights } from './parse-records.js'
import { WorkerRunner } from './worker.js'

/** The tasks. They throw `ServiceError` for a body that is wrong. */
const bodyTasks = {
  cycle: (body: Uint8Array) => decodeCycle(body),
  outcomes: parseOutcomes,
  weights: parseWeights,
  differences: bodyDifferences,
}

type BodyTasks = typeof bodyTasks
export type BodyTaskName = keyof BodyTasks

/** Runs a task on the calling thread. */
export function runInline<Name extends BodyTaskName>(
  name: Name,
  bodies: Parameters<BodyTasks[Name]>,
): ReturnType<BodyTasks[Name]> {
  const run = bodyTasks[name] as (...bodies: Uint8Array[]) => unknown
  return run(...bodies) as ReturnType<BodyTasks[Name]>
}

/** A task on this many bytes takes a few milliseconds, less than a round trip to a worker thread. */
export const inlineBytesMax = 64 * kibibyte

const reading = new WorkerRunner()
const comparing = new WorkerRunner()

/**
 * Runs a task. Leave the bodies unchanged until the promise has settled. Rejects with the error of the task; with
 * `unavailable` when the thread fails or exceeds a limit; with the reason of `signal` when that
 * is aborted while the task waits for the thread.
 */
export async function runBodyTask<Name extends BodyTaskName>(
  name: Name,
  bodies: Parameters<BodyTasks[Name]>,
  {
    signal,
    // Neither waits for the other.
    runner = name === 'differences' ? comparing : reading,
  }: { readonly signal?: AbortSignal | undefined; readonly runner?: WorkerRunner | undefined } = {},
): Promise<ReturnType<BodyTasks[Name]>> {
  const byteCount = bodies.reduce((sum, body) => sum + body.length, 0)
  if (byteCount <= inlineBytesMax) return runInline(name, bodies)
  const outcome = await runner.run(name, bodies, signal).catch((cause: unknown) => {
    if (cause instanceof ServiceError) throw cause
    throw new ServiceError({ code: 'body_failed' }, { cause })
  })
  return valueOf(outcome as TaskOutcome) as ReturnType<BodyTasks[Name]>
}

/** What the thread posts: a value, or the refusal that becomes the client's error. */
type TaskOutcome =
  | { readonly value: unknown }
  | {
      readonly refusal: Refusal
      readonly fields: readonly FieldProblem[] | undefined
    }

/** Runs `task` in the thread. Throws any error that is not a refusal. */
export function outcomeOf(task: () => unknown): TaskOutcome {
  try {
    return { value: task() }
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    return { refusal: error.reason, fields: error.fields }
  }
}

function valueOf(outcome: TaskOutcome): unknown {
  if ('value' in outcome) return outcome.value
  const { refusal, fields } = outcome
  throw new ServiceError(refusal, { fields })
}
