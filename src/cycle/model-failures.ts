/**
 * The failures of the model that scores: consecutive cycles that failed because of it, since the last one that it scored.
 * Health is degraded from the first of them until the model scores a cycle, also while its process restarts. A failure is
 * described by cycle and post: the row of a batch means nothing to the authors of a model.
 */
import { ModelDownError, ModelError, ModelRowError, type Model, type ModelAbsence } from '../model/index.js'
import { shortPostName, type PoolState } from '../pool/index.js'

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

function isDown(error: Error): boolean {
  return error instanceof ModelDownError || error.cause instanceof ModelDownError
}

/** What was scored, such as `cycle 20260302T1205`, and the version that scored it. */
export interface ScoringAttempt {
  readonly version: string
  readonly what: string
  readonly plan: {
    readonly scoring: { readonly slots: Uint32Array }
    readonly next: Pick<PoolState, 'galleries' | 'gallery' | 'postNo'>
  }
}

/** Adds version, cycle and, for an error of one row, the post to a `ModelError`. */
export function placedFailure(error: ModelError, { version, what, plan }: ScoringAttempt): ModelError {
  const post = error instanceof ModelRowError ? `, post ${postOfRow(plan, error.row)}` : ''
  return new ModelError(`${version}, ${what}${post}: ${error.message}`, { cause: error })
}

function postOfRow({ scoring, next }: ScoringAttempt['plan'], row: number): string {
  const slot = scoring.slots[row]!
  const gallId = next.galleries[next.gallery[slot]!]!
  // A terminal may print the id, so control characters are removed.
  return shortPostName(gallId.replace(/\p{Cc}/gu, '?'), next.postNo[slot]!)
}
