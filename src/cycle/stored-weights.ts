/**
 * The weights of the service: all settings, in memory as in the store. They are set one after the other.
 */
import type { Log } from '../base/index.js'
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

/** Some 2 MB in memory, and one setting a day for 27 years. */
const settingsMax = 10_000

export class StoredWeights {
  readonly #store: Store
  /** Stored as the first one of a new data directory. */
  readonly #initial: WeightsSetting
  /** Oldest first; never empty. */
  #settings: readonly WeightsSetting[]

  private constructor(store: Store, initial: WeightsSetting) {
    this.#store = store
    this.#initial = initial
    this.#settings = [initial]
  }

  /** Opens the history. A new one begins with `initial`; logs a warning when a stored one began with other weights. */
  static async open(store: Store, initial: InitialWeights, nowMs: number, log: Log): Promise<StoredWeights> {
    const first = initialSetting(initial, nowMs)
    const weights = new StoredWeights(store, first)
    await weights.reload()
    const stored = weights.#settings.slice(0, 1)
    if (planWeights(stored, first, nowMs, nowMs).kind !== 'unchanged') {
      log.warn(
        { configured: first.version, stored: stored[0]?.version },
        'the configured initial weights are ignored: this data directory was created with other weights',
      )
    }
    return weights
  }

  /** Reads the weights again. Stores the first ones if none are stored, if this process may write. */
  async reload(): Promise<void> {
    if (!this.#read() && this.#store.mayWrite) await this.#store.appendWeights(1, this.#initial)
  }

  /** False if none are stored. */
  #read(): boolean {
    const stored = [...this.#store.listWeights()]
    this.#settings = stored.length > 0 ? stored : [this.#initial]
    return stored.length > 0
  }

  get current(): WeightsSetting {
    const current = this.#settings.at(-1)
    assert(current !== undefined, 'there are weights')
    return current
  }

  /** The setting that applies to a cycle, or at a time. */
  inForceAt(ms: number): WeightsSetting {
    return weightsInForce(this.#settings, ms) ?? this.#initial
  }

  /** The current setting if it is that of `request`, else null. Throws as `changeWeights` does. */
  currentIfEqual(request: WeightsToSet): WeightsSetting | null {
    const plan = changeWeights(this.#settings, request, { nowMs: 0, newestCycleMs: 0 })
    return plan.kind === 'unchanged' ? plan.setting : null
  }

  /**
   * Sets weights, unless they are already current. Throws as `changeWeights` does, and `unavailable` when storage refuses the write: nothing has changed then, or the store has the weights.
   */
  async set(request: WeightsToSet, nowMs: number, newestCycleMs: number): Promise<WeightsSetting> {
    const { kind, setting } = changeWeights(this.#settings, request, { nowMs, newestCycleMs })
    if (kind === 'unchanged') return setting
    try {
      await this.#store.appendWeights(this.#settings.length + 1, setting)
    } catch (error) {
      // A write that failed late may have reached the disk: the store decides.
      if (!this.#store.closed) this.#read()
      throw new ServiceError({ code: 'storage_refuses' }, { cause: error })
    }
    this.#settings = [...this.#settings, setting]
    return setting
  }

  /** `current` is the setting made last, even before it takes effect. */
  state(): WeightsState {
    const previous = this.#settings.at(-2)
    return { current: recordOf(this.current), previous: previous ? recordOf(previous) : null }
  }
}

/**
 * What setting weights would do: see `planWeights`. Throws `unprocessable` for weights that score nothing and for a history that
 * is full, and `conflict` for a version used before with other weights.
 */
export function changeWeights(
  settings: readonly WeightsSetting[],
  request: WeightsToSet,
  { nowMs, newestCycleMs }: { readonly nowMs: number; readonly newestCycleMs: number },
): WeightsAccepted {
  const { views, comments, up } = request.weights
  if (views === 0 && comments === 0 && up === 0)
    throw new ServiceError(
      { code: 'unusable_weights' },
      {
        fields: [{ path: 'weights', problem: 'at least one of views, comments, up must be positive' }],
      },
    )
  const plan = planWeights(settings, request, nowMs, newestCycleMs)
  if (plan.kind === 'appended' && settings.length >= settingsMax)
    throw new ServiceError({ code: 'too_many_weights', settings_max: settingsMax })
  if (plan.kind !== 'conflict') return plan
  throw new ServiceError(
    { code: 'other_weights' },
    {
      fields: weightNames
        .filter((name) => plan.used[name] !== request.weights[name])
        .map((name) => ({
          path: `weights.${name}`,
          problem: `was ${plan.used[name]}, is ${request.weights[name]}`,
        })),
    },
  )
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
