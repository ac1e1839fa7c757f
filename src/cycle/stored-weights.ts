/**
 * The weights of the service. Memory has the few that almost every call needs; the store has the whole history. One group of
 * weights is set at a time.
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
  type KnownWeights,
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

/** The setting of each request, or why it has none. */
export type WeightsResults = ReadonlyMap<WeightsToSet, WeightsSetting | Error>

export class StoredWeights implements KnownWeights {
  readonly #store: Store
  /** Stored as the first one of a new data directory. */
  readonly #initial: WeightsSetting
  #count = 1
  #previous: WeightsSetting | null = null
  /** The current setting, after the one that is in force until it begins. Health needs no other, and thus no storage. */
  #newest: readonly WeightsSetting[]

  private constructor(store: Store, initial: WeightsSetting) {
    this.#store = store
    this.#initial = initial
    this.#newest = [initial]
  }

  /** Opens the history. A new one begins with `initial`; logs a warning when a stored one began with other weights. */
  static async open(store: Store, initial: InitialWeights, nowMs: number, log: Log): Promise<StoredWeights> {
    const first = initialSetting(initial, nowMs)
    const oldest = store.readWeights(1)
    const known = { current: oldest, find: () => undefined }
    if (oldest !== undefined && planWeights(known, first, nowMs, nowMs).kind !== 'unchanged') {
      log.warn(
        { configured: first.version, stored: oldest.version },
        'the configured initial weights are ignored: this data directory was created with other weights',
      )
    }
    const weights = new StoredWeights(store, first)
    await weights.reload()
    return weights
  }

  /** Reads the newest weights again. Stores the first ones if none are stored, if this process may write. */
  async reload(): Promise<void> {
    if (this.#store.weightsCount() === 0 && this.#store.mayWrite)
      await this.#store.appendWeights([this.#initial])
    this.#read()
  }

  #read(): void {
    const store = this.#store
    const count = store.weightsCount()
    const current = store.readWeights(count)
    assert(count === 0 || current !== undefined, 'the numbers of weights have no gaps')
    if (current === undefined) return
    const before = store.weightsAt(current.firstCycleMs - 1)
    this.#count = count
    this.#previous = store.readWeights(count - 1) ?? null
    this.#newest = before === undefined ? [current] : begunBefore(current, [before])
  }

  get current(): WeightsSetting {
    const current = this.#newest.at(-1)
    assert(current !== undefined, 'there are weights')
    return current
  }

  find(version: string): WeightsSetting | undefined {
    return this.#newest.find((setting) => setting.version === version) ?? this.#store.findWeights(version)
  }

  /** The setting that applies to a cycle, or at a time. Throws when storage cannot be read. */
  inForceAt(ms: number): WeightsSetting {
    return weightsInForce(this.#newest, ms) ?? this.#store.weightsAt(ms) ?? this.#initial
  }

  /** The version in force at a time. */
  versionAt(ms: number): string {
    return this.inForceAt(ms).version
  }

  /** The current setting if it is that of `request`, else null. Throws as `changeWeights` does. */
  currentIfEqual(request: WeightsToSet): WeightsSetting | null {
    const plan = changeWeights(this, request, { nowMs: 0, newestCycleMs: 0 })
    return plan.kind === 'unchanged' ? plan.setting : null
  }

  /**
   * Sets weights one after the other, unless they are already current, in one transaction. Errors are `conflict` for a version
   * that exists with different weights, and `unavailable` for what depends on a transaction that failed.
   */
  async set(
    requests: readonly WeightsToSet[],
    nowMs: number,
    newestCycleMs: number,
  ): Promise<WeightsResults> {
    const results = new Map<WeightsToSet, WeightsSetting | Error>()
    const appended: WeightsSetting[] = []
    const dependent: WeightsToSet[] = []
    const findAppended = (version: string) => appended.find((setting) => setting.version === version)
    const find = (version: string) => findAppended(version) ?? this.find(version)
    for (const request of requests) {
      try {
        const current = appended.at(-1) ?? this.current
        const { kind, setting } = changeWeights({ current, find }, request, { nowMs, newestCycleMs })
        if (kind === 'appended') appended.push(setting)
        results.set(request, setting)
      } catch (error) {
        results.set(request, error as Error)
      }
      if (findAppended(request.version) !== undefined) dependent.push(request)
    }
    if (appended.length === 0) return results
    try {
      await this.#store.appendWeights(appended, this.#count)
    } catch (error) {
      // A write that failed late may have reached the disk: the store decides.
      if (!this.#store.closed) this.#read()
      const failure = new ServiceError({ code: 'storage_refuses' }, { cause: error })
      for (const request of dependent) results.set(request, failure)
      return results
    }
    this.#count += appended.length
    for (const setting of appended) {
      this.#previous = this.current
      this.#newest = begunBefore(setting, this.#newest)
    }
    return results
  }

  /** `current` is the setting made last, even before it takes effect. */
  state(): WeightsState {
    const previous = this.#previous
    return { current: recordOf(this.current), previous: previous && recordOf(previous) }
  }
}

/** `setting`, after the last of `earlier` that it does not hide. */
function begunBefore(setting: WeightsSetting, earlier: readonly WeightsSetting[]): readonly WeightsSetting[] {
  return [...earlier.filter(({ firstCycleMs }) => firstCycleMs < setting.firstCycleMs).slice(-1), setting]
}

/**
 * What setting weights would do: see `planWeights`. Throws `unprocessable` for weights that score nothing, and `conflict`
 * for a version used before with other weights.
 */
export function changeWeights(
  known: KnownWeights,
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
  const plan = planWeights(known, request, nowMs, newestCycleMs)
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
