/**
 * The history of weights, in memory and in the store. Weights are set one at a time (decisions.md 25).
 */
import {
  assert,
  ServiceError,
  type Weights,
  type WeightsRecord,
  type WeightsState,
  formatInstant,
} from '../contract/index.js'
import {
  planWeights,
  weightsInForce,
  type WeightsAccepted,
  type WeightsHistory,
  type WeightsSetting,
  type WeightsToSet,
} from '../pool/index.js'
import type { Store } from '../store/index.js'

const weightNames = ['views', 'comments', 'up', 'downvote_share'] as const

/** The weights of a new data directory. They apply to every cycle before the first change. */
export interface InitialWeights {
  readonly version: string
  readonly weights: Weights
  readonly note?: string
}

export class StoredWeights {
  readonly #store: Store
  #history: WeightsHistory

  private constructor(store: Store, history: WeightsHistory) {
    this.#store = store
    this.#history = history
  }

  /** Opens the history. A new one begins with `initial`; logs a warning when a stored one began with other weights. */
  static async open(
    store: Store,
    initial: InitialWeights,
    nowMs: number,
    log: { warn(fields: object, message: string): void },
  ): Promise<StoredWeights> {
    const history = store.listWeights()
    const first = initialSetting(initial, nowMs)
    const [oldest] = history
    if (oldest !== undefined) {
      if (planWeights([oldest], first, nowMs, nowMs).kind !== 'unchanged') {
        log.warn(
          { configured: first.version, stored: oldest.version },
          'the configured initial weights are ignored: this data directory was created with other weights',
        )
      }
      return new StoredWeights(store, history)
    }
    const weights = new StoredWeights(store, [first])
    await weights.reload()
    return weights
  }

  /** Reads the history again. Stores the first weights if none are stored, if this process may write. */
  async reload(): Promise<void> {
    const stored = this.#store.listWeights()
    if (stored.length > 0) this.#history = stored
    else if (this.#store.mayWrite)
      for (const setting of this.#history) await this.#store.appendWeights(setting)
  }

  get history(): WeightsHistory {
    return this.#history
  }

  /** The version in force at a time. */
  versionAt(ms: number): string {
    return weightsInForce(this.#history, ms).version
  }

  /** The current setting if it is that of `request`, else null. Throws as `set` does. */
  currentIfEqual(request: WeightsToSet): WeightsSetting | null {
    const plan = this.#plan(request, 0, 0)
    return plan.kind === 'unchanged' ? plan.setting : null
  }

  /** Sets weights unless they are already current. Throws `conflict` for a version that exists with different weights. */
  async set(request: WeightsToSet, nowMs: number, newestCycleMs: number): Promise<WeightsSetting> {
    const plan = this.#plan(request, nowMs, newestCycleMs)
    if (plan.kind === 'appended') {
      try {
        await this.#store.appendWeights(plan.setting, this.#history.length)
      } catch (error) {
        // A write that failed late may have reached the disk: the store decides.
        if (!this.#store.closed) this.#history = this.#store.listWeights()
        throw new ServiceError('unavailable', 'storage refuses writes', { cause: error })
      }
      this.#history = [...this.#history, plan.setting]
    }
    return plan.setting
  }

  #plan(request: WeightsToSet, nowMs: number, newestCycleMs: number): WeightsAccepted {
    return changeWeights(this.#history, request, { nowMs, newestCycleMs })
  }

  /** `current` is the setting made last, even before it takes effect. */
  state(): WeightsState {
    const [current, previous] = [this.#history.at(-1), this.#history.at(-2)]
    assert(current !== undefined, 'there are weights')
    return { current: recordOf(current), previous: previous === undefined ? null : recordOf(previous) }
  }
}

/**
 * What setting weights would do: see `planWeights`. Throws `unprocessable` for weights that score nothing, and `conflict`
 * for a version used before with other weights.
 */
export function changeWeights(
  history: WeightsHistory,
  request: WeightsToSet,
  { nowMs, newestCycleMs }: { readonly nowMs: number; readonly newestCycleMs: number },
): WeightsAccepted {
  const { views, comments, up } = request.weights
  if (views === 0 && comments === 0 && up === 0)
    throw new ServiceError('unprocessable', 'the weights are not usable', {
      fields: [{ path: 'weights', problem: 'at least one of views, comments, up must be positive' }],
    })
  const plan = planWeights(history, request, nowMs, newestCycleMs)
  if (plan.kind !== 'conflict') return plan
  throw new ServiceError('conflict', 'this version already exists with different weights', {
    fields: weightNames
      .filter((name) => plan.used[name] !== request.weights[name])
      .map((name) => ({
        path: `weights.${name}`,
        problem: `was ${plan.used[name]}, is ${request.weights[name]}`,
      })),
  })
}

function initialSetting({ version, weights, note }: InitialWeights, nowMs: number): WeightsSetting {
  const { views, comments, up, downvote_share } = weights
  return {
    version,
    weights: { views, comments, up, downvote_share },
    note: note ?? 'initial weights',
    setAtMs: nowMs,
    firstCycleMs: 0,
  }
}

function recordOf({ version, weights, note, setAtMs, firstCycleMs }: WeightsSetting): WeightsRecord {
  return {
    version,
    weights,
    note,
    set_at: formatInstant(setAtMs),
    first_cycle_time: formatInstant(firstCycleMs),
  }
}
