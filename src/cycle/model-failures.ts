/**
 * The failures of the model that scores: consecutive cycles that failed because of it, since the last one that it scored.
 * Health is degraded from the first of them until the model scores a cycle, also while its process restarts. If the process
 * has ended, the post that ends it is searched in the background.
 */
import { inBackground, type Log } from '../base/index.js'
import {
  ModelDownError,
  ModelRowError,
  type EmbeddingColumn,
  type Model,
  type ModelAbsence,
  type ModelInputs,
} from '../model/index.js'
import { findFailingRow } from './failing-row.js'
import { placedFailure, type ScoringAttempt } from './model-failure.js'

export interface ModelFailure {
  readonly version: string
  /** What failed, with the cycle, and the post if it is known. */
  readonly reason: string
  /** Consecutive. A repeat of the last one counts if the model has run. */
  readonly cycleCount: number
}

export interface ModelFailuresParts {
  /** The model that would score now, also while its process restarts; null: none is loaded. */
  readonly model: () => Model | null
  /** True while cycles are scored. */
  readonly isBusy: () => boolean
  /** True once the service is closing. */
  readonly ended: () => boolean
  readonly log: Log
}

export interface FailedPrediction {
  readonly inputs: ModelInputs
  readonly attempt: ScoringAttempt
}

interface Failure extends ModelFailure {
  /** null: there was no process. */
  readonly model: Model | null
  /** No version was loaded: the failure is over when one is. */
  readonly isUnloaded: boolean
}

export class ModelFailures {
  readonly #parts: ModelFailuresParts
  readonly #listeners: ((failure: ModelFailure) => void)[] = []
  readonly #scoredListeners: ((model: Model) => void)[] = []
  #failure: Failure | null = null
  /** The last cycle that failed. */
  #lastCycle: string | null = null
  #searchedModel: Model | null = null

  constructor(parts: ModelFailuresParts) {
    this.#parts = parts
  }

  /** Calls `listener` after each cycle that failed because of the model. */
  onFailed(listener: (failure: ModelFailure) => void): void {
    this.#listeners.push(listener)
  }

  /** The failure of the model that would score now; null: it has scored since, another one has taken over, or one has been loaded. */
  get current(): ModelFailure | null {
    const failure = this.#failure
    if (failure === null) return null
    const model = this.#parts.model()
    if (model === null) return failure
    const isOfModel = failure.model === null ? failure.version === model.version : failure.model === model
    return isOfModel && !failure.isUnloaded ? failure : null
  }

  /** Calls `listener` after each prediction of a cycle that succeeded. */
  onScored(listener: (model: Model) => void): void {
    this.#scoredListeners.push(listener)
  }

  scored(model: Model): void {
    this.#failure = null
    this.#lastCycle = null
    for (const listener of this.#scoredListeners) listener(model)
  }

  /**
   * Counts a cycle that failed with `error`, a `ModelError`. Without a process there was no attempt, so a client that
   * repeats one cycle while the process restarts counts once.
   */
  failed(cycleId: string, model: Model, error: Error): void {
    const { version } = model
    this.#count(cycleId, { model, version, reason: error.message, isUnloaded: false }, isDown(error))
  }

  /** Counts a cycle that found no process of the model. */
  absent(cycleId: string, { version, reason, isRestarting }: ModelAbsence): void {
    this.#count(cycleId, { model: null, version, reason, isUnloaded: !isRestarting }, true)
  }

  /** Searches, in the background, the post that ends the process of the model. Vectors are copied before this returns. */
  search(model: Model, error: unknown, { inputs, attempt }: FailedPrediction): void {
    if (error instanceof ModelRowError || error instanceof ModelDownError) return
    if (this.#searchedModel !== null) return
    this.#searchedModel = model
    const copies = { ...inputs, text: copyOf(inputs.text), image: copyOf(inputs.image) }
    inBackground('model failure', this.#search(model, copies, attempt))
  }

  async #search(model: Model, inputs: ModelInputs, attempt: ScoringAttempt): Promise<void> {
    try {
      await this.#findPost(model, inputs, attempt)
    } finally {
      this.#searchedModel = null
    }
  }

  async #findPost(model: Model, inputs: ModelInputs, attempt: ScoringAttempt): Promise<void> {
    const isOver = (): boolean => this.#parts.ended() || this.#failure?.model !== model
    const failingRow = await findFailingRow(model, inputs, { isBusy: this.#parts.isBusy, isOver })
    const failure = this.#failure
    if (failingRow === null || failure?.model !== model) return
    const rowError = new ModelRowError(failingRow.error.message, failingRow.row)
    const { message: reason } = placedFailure(rowError, attempt)
    this.#failure = { ...failure, reason }
    this.#parts.log.error({ model_version: model.version, problem: reason }, 'the model fails on this post')
  }

  #count(cycleId: string, failed: Omit<Failure, 'cycleCount'>, isDown: boolean): void {
    const last = this.#failure
    const isSame =
      last?.version === failed.version && (last.model ?? failed.model) === (failed.model ?? last.model)
    const before = isSame ? last : null
    if (isDown && before !== null && this.#lastCycle === cycleId) return
    this.#lastCycle = cycleId
    // That there is no process is the consequence of an earlier failure.
    const reason = isDown && before !== null ? before.reason : failed.reason
    const model = failed.model ?? before?.model ?? null
    this.#failure = { ...failed, model, reason, cycleCount: (before?.cycleCount ?? 0) + 1 }
    for (const listener of this.#listeners) listener(this.#failure)
  }
}

/** Later cycles write other vectors into the rows. Everything else that a model reads of a cycle never changes. */
function copyOf(column: EmbeddingColumn | null): EmbeddingColumn | null {
  return column && { ...column, vectors: column.vectors.slice() }
}

function isDown(error: Error): boolean {
  return error instanceof ModelDownError || error.cause instanceof ModelDownError
}
