/**
 * Finds the post on which a model fails when its process ends: by a crash, by its time limit or by its memory limit. (An error of
 * a graph names its row itself.) Each step scores half of the posts and may end the process again, so the search has a time
 * limit, and waits while cycles are scored.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { ModelDownError, ModelError, ModelRowError, type Model, type ModelInputs } from '../model/index.js'

/** Of the whole search: a step takes at most seconds, and so does the restart of a process. */
const searchMsMax = 120_000
/** Of one step. A posted row takes milliseconds; a batch of all posts passed its check with at most `modelLatencyMsMax`. */
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
  const search = new Search(model, inputs, parts)
  let rows = Array.from({ length: inputs.count }, (_, row) => row)
  while (rows.length > 1) {
    const first = rows.slice(0, Math.ceil(rows.length / 2))
    const error = await search.errorOf(first)
    if (search.isOver) return null
    if (error instanceof ModelRowError) return { row: first[error.row] as number, error }
    rows = error === null ? rows.slice(first.length) : first
  }
  // What is left is the cause only if it fails alone: the first failure may have had another one.
  const error = await search.errorOf(rows)
  const [row] = rows
  return error === null || row === undefined || search.isOver ? null : { row, error }
}

class Search {
  readonly #model: Model
  readonly #inputs: ModelInputs
  readonly #parts: SearchParts
  readonly #endMs = performance.now() + searchMsMax

  constructor(model: Model, inputs: ModelInputs, parts: SearchParts) {
    this.#model = model
    this.#inputs = inputs
    this.#parts = parts
  }

  get isOver(): boolean {
    return this.#parts.isOver() || performance.now() > this.#endMs
  }

  /** Why the model fails on these rows; null if it does not, or if the search is over. */
  async errorOf(rows: readonly number[]): Promise<ModelError | null> {
    const { slots, readings } = this.#inputs
    const part = {
      ...this.#inputs,
      count: rows.length,
      slots: Uint32Array.from(rows, (row) => slots[row] as number),
      readings: Uint32Array.from(rows, (row) => readings[row] as number),
    }
    while (!this.isOver) {
      if (!this.#parts.isBusy()) {
        try {
          await this.#model.predict(part, stepMsMax)
          return null
        } catch (error) {
          if (!(error instanceof ModelError)) throw error
          if (!(error instanceof ModelDownError)) return error
        }
      }
      // The process restarts, or cycles use it.
      await sleep(pauseMs, undefined, { ref: false })
    }
    return null
  }
}
