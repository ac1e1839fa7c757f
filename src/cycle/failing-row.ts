/**
 * Finds the post on which a model fails when its process ends: by a crash, by its time limit or by its memory limit. (An error of
 * a graph names its row itself.) Each step scores some of the posts and may end the process again, so the search has a time
 * limit, and waits while cycles are scored.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  isolateErrors,
  ModelDownError,
  ModelError,
  ModelRowError,
  partsOf,
  type Model,
  type ModelInputs,
} from '../model/index.js'

/** Time limit of the search: a step takes at most seconds, and so does the restart of a process. */
const searchMsMax = 120_000
/** Time limit of one step. A posted row takes milliseconds; a batch of all posts passed its check with at most `modelLatencyMsMax`. */
const stepMsMax = 3000
const pauseMs = 50

export interface SearchParts {
  /** True while cycles use the model. */
  readonly isBusy: () => boolean
  /** True when the result is of no use any more. */
  readonly isOver: () => boolean
}

/** A row of the inputs, and what the model reports for it alone. */
export interface FailingRow {
  readonly row: number
  readonly error: ModelError
}

/** null: the model scores the inputs now, no single row is the cause, or the time was too short. `inputs` must not change. */
export async function findFailingRow(
  model: Model,
  inputs: ModelInputs,
  parts: SearchParts,
): Promise<FailingRow | null> {
  const endMs = performance.now() + searchMsMax
  const isOver = (): boolean => parts.isOver() || performance.now() > endMs
  let failingRow: FailingRow | null = null
  const run = async (rows: readonly number[]): Promise<void> => {
    const part = rowsOf(inputs, rows)
    while (!isOver()) {
      try {
        if (!parts.isBusy()) {
          await model.predict(part, stepMsMax)
          return
        }
      } catch (error) {
        if (error instanceof ModelRowError) {
          failingRow = { row: rows[error.row]!, error }
          return
        }
        if (!(error instanceof ModelDownError)) throw error
      }
      // The process restarts, or cycles use it.
      await sleep(pauseMs, undefined, { ref: false })
    }
  }
  await isolateErrors(partsOf([...inputs.slots.subarray(0, inputs.count).keys()]), {
    run,
    control: (_, error) => (error instanceof ModelError ? Promise.resolve() : Promise.reject(error as Error)),
    onError: (row, error) => (failingRow = { row, error: error as ModelError }),
    isLate: () => failingRow !== null || isOver(),
  })
  return isOver() ? null : failingRow
}

function rowsOf(inputs: ModelInputs, rows: readonly number[]): ModelInputs {
  return {
    ...inputs,
    count: rows.length,
    slots: Uint32Array.from(rows, (row) => inputs.slots[row]!),
    readings: Uint32Array.from(rows, (row) => inputs.readings[row]!),
  }
}
