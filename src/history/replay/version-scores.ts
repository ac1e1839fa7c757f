/**
 * Scores of some versions for the same rows of stored cycles. They come from the response, from the stored scores of a
 * shadow, or from a replay of the recorded request. Heads are weighted with the weights of their cycle.
 */
import { minuteMs } from '../../base/index.js'
import {
  headNames,
  type HeadColumns,
  type HeadName,
  type ScoreSource,
  type Weights,
} from '../../contract/index.js'
import { placedFailure, Quarantine } from '../../cycle/index.js'
import { ModelError, type Model } from '../../model/index.js'
import { gallIdAt, missingHeads, scoreRows } from '../../pool/index.js'
import { cycleTables, unpackRows } from '../../records/index.js'
import type { Position, Store, StoredCycle } from '../../store/index.js'
import { VectorCache } from './vector-cache.js'
import { replayAt, replayCycles, type ReplayedCycle } from './replay.js'
import { readResponse } from '../recorded/records.js'
import { replayedInputs, type ExcludedInput, type ReplayEncoding } from './replayed-inputs.js'

/** Where scores come from, in order of preference. */
export const scoreSources: readonly ScoreSource[] = ['response', 'shadow', 'replay']

/** One version's scores of a cycle, one per scored row, in the order of the response. */
export interface SourcedScores {
  readonly version: string
  readonly source: ScoreSource
  readonly scores: Float64Array
  /** Heads that the model lacks and that have a weight in this cycle. */
  readonly lacking: readonly HeadName[]
}

export interface SourcedCycle {
  readonly cycle: StoredCycle
  /** The scored rows. */
  readonly posts: readonly { readonly gallId: string; readonly postNo: number }[]
  /** One for each version. */
  readonly sides: readonly SourcedScores[]
}

export interface ScoresOptions {
  readonly versions: readonly string[]
  /** Loads a model for cycles that it has not scored. Called at most once per version. */
  readonly load: (version: string) => Promise<Model>
  /** Called once for each text and image that a replay skips. */
  readonly onExcluded: (version: string, excluded: ExcludedInput) => void
}

/** Time limit for the texts of one cycle. */
const encodeMsMax = 60 * minuteMs

export class ReplayedScores {
  /** The keys are version and position. */
  readonly #scores = new Map<string, Map<Position, Float32Array>>()

  add({ cycle, sides }: SourcedCycle): void {
    for (const { version, source, scores } of sides) {
      if (source !== 'replay') continue
      const known = this.#scores.get(version) ?? new Map<Position, Float32Array>()
      this.#scores.set(version, known.set(cycle.position, Float32Array.from(scores)))
    }
  }

  get(version: string, position: Position): Float32Array | undefined {
    return this.#scores.get(version)?.get(position)
  }
}

/**
 * Scores for the cycles with `fromMs` ≤ `cycle_time` ≤ `toMs` that a version has neither served nor scored as a shadow. Cycles
 * whose request has expired are skipped. Rejects with the errors of `load` and of a replay.
 */
export async function replayScores(
  store: Store,
  options: ScoresOptions & { readonly fromMs: number; readonly toMs: number },
): Promise<ReplayedScores> {
  const { versions, fromMs, toMs } = options
  const cycles = [...store.tail(1)]
    .filter(({ cycleAtMs }) => fromMs <= cycleAtMs && cycleAtMs <= toMs)
    .filter((cycle) => versions.some((version) => sourceOf(store, cycle, version) === 'replay'))
  const replayed = new ReplayedScores()
  for await (const scored of sourcedScores(store, cycles, options)) replayed.add(scored)
  return replayed
}

/**
 * Scores of cycles, which are given in order of arrival. Skips cycles without scored rows. Rejects with the errors of `load`
 * and of a replay.
 */
export async function* sourcedScores(
  store: Store,
  cycles: readonly StoredCycle[],
  options: ScoresOptions,
): AsyncGenerator<SourcedCycle> {
  const { versions } = options
  const replayers = versions.map((version) => new Replayer(store, version, options))
  const replayed = cycles
    .filter((cycle) => versions.some((version) => sourceOf(store, cycle, version) === 'replay'))
    .map(({ position }) => position)
  const replays = replayCycles(store, { from: replayed[0] ?? 1, to: replayed.at(-1) ?? 0 })
  try {
    for (const cycle of cycles) {
      const response = readScoredRows(store, cycle)
      if (response.posts.length === 0) continue
      const weights = weightsOf(store, cycle.weightsVersion)
      let replayedCycle: ReplayedCycle | null = null
      const sides: SourcedScores[] = []
      for (const replayer of replayers) {
        const { version } = replayer
        const source = sourceOf(store, cycle, version)
        if (source === 'response') {
          const lacking = missingHeads(response.heads, weights)
          sides.push({ version, source, scores: response.scores, lacking })
          continue
        }
        const heads =
          source === 'shadow'
            ? shadowHeads(store, cycle, version)!
            : await replayer.heads((replayedCycle ??= await replayAt(replays, cycle.position)), response)
        const whose = `${version} at ${cycle.cycleId}`
        const scores = Float64Array.from(weightedScores(heads, weights, response.posts.length, whose))
        sides.push({ version, source, scores, lacking: missingHeads(heads, weights) })
      }
      yield { cycle, posts: response.posts, sides }
    }
  } finally {
    await replays.return(undefined)
  }
}

/** The stored heads of a shadow; undefined if there are none. */
export function shadowHeads(
  store: Store,
  { position }: StoredCycle,
  version: string,
): HeadColumns | undefined {
  const packed = store.models.readShadowScores(position, version)
  return packed && unpackRows(cycleTables.heads, packed)
}

/** The best source for the scores of a version. */
function sourceOf(store: Store, cycle: StoredCycle, version: string): ScoreSource {
  if (cycle.modelVersion === version) return 'response'
  return store.models.readShadowScores(cycle.position, version) === undefined ? 'replay' : 'shadow'
}

interface ScoredRows extends Pick<SourcedCycle, 'posts'> {
  readonly scores: Float64Array
  /** Null if the response has no such head. */
  readonly heads: Readonly<Record<HeadName, true | null>>
}

function readScoredRows(store: Store, { cycleId }: StoredCycle): ScoredRows {
  const { results } = readResponse(store, cycleId)
  const scored = results.filter(({ status }) => status === 'scored')
  return {
    posts: scored.map(({ gall_id, post_no }) => ({ gallId: gall_id, postNo: post_no })),
    // A response has the shortest decimal digits that identify a float32.
    scores: Float64Array.from(scored, ({ score }) => Math.fround(score!)),
    // A version gives all rows the same heads.
    heads: Object.fromEntries(
      headNames.map((name) => [name, scored[0]?.[name] === undefined ? null : true]),
    ) as ScoredRows['heads'],
  }
}

/** Weights by version, as each store had them when they were last looked up. */
const knownWeights = new WeakMap<Store, ReadonlyMap<string, Weights>>()

/** A version may be set more than once, but always with the same weights. */
export function weightsOf(store: Store, weightsVersion: string): Weights {
  if (knownWeights.get(store)?.has(weightsVersion) !== true)
    knownWeights.set(store, new Map(Array.from(store.listWeights(), (one) => [one.version, one.weights])))
  const weights = knownWeights.get(store)?.get(weightsVersion)
  if (weights === undefined) throw new Error(`the store has no weights ${weightsVersion}`)
  return weights
}

/** Throws if the heads are not those of `count` rows. `whose`: names them. */
export function weightedScores(
  heads: HeadColumns,
  weights: Weights,
  count: number,
  whose: string,
): Float32Array {
  for (const name of headNames) {
    const scoreCount = heads[name]?.length ?? count
    if (scoreCount !== count) throw new Error(`${scoreCount} scores of ${whose}, and ${count} scored posts`)
  }
  return scoreRows(heads, weights, count)
}

/** One model that scores replayed cycles. */
class Replayer {
  readonly version: string
  readonly #store: Store
  readonly #load: (version: string) => Promise<Model>
  readonly #onExcluded: (excluded: ExcludedInput) => void
  #opened: { readonly model: Model; readonly encoding: ReplayEncoding } | null = null

  constructor(store: Store, version: string, { load, onExcluded }: ScoresOptions) {
    this.#store = store
    this.version = version
    this.#load = load
    this.#onExcluded = (excluded) => onExcluded(version, excluded)
  }

  /** Rejects with a `ModelError` that names the version, the cycle and the post. */
  async heads(replayedCycle: ReplayedCycle, { posts }: ScoredRows): Promise<HeadColumns> {
    checkSamePosts(replayedCycle, posts)
    const { model, encoding } = await this.#open()
    const rows = Array.from(posts.keys())
    try {
      const { inputs } = await replayedInputs(this.#store, model, replayedCycle, rows, encoding)
      return await model.predict(inputs)
    } catch (error) {
      if (!(error instanceof ModelError)) throw error
      throw placedFailure(error, {
        version: this.version,
        what: `cycle ${replayedCycle.cycle.cycleId}`,
        plan: replayedCycle.plan,
      })
    }
  }

  async #open(): Promise<{ readonly model: Model; readonly encoding: ReplayEncoding }> {
    if (this.#opened !== null) return this.#opened
    const model = await this.#load(this.version).catch((error: unknown) => {
      if (!(error instanceof ModelError)) throw error
      throw new ModelError(`${this.version}: ${error.message}`, { cause: error })
    })
    const cache = new VectorCache(this.#store)
    const encoding = { encodeMsMax, quarantine: new Quarantine(), onExcluded: this.#onExcluded, cache }
    return (this.#opened = { model, encoding })
  }
}

function checkSamePosts({ cycle, plan }: ReplayedCycle, posts: ScoredRows['posts']): void {
  const { scoring, next } = plan
  const same =
    scoring.count === posts.length &&
    posts.every(({ gallId, postNo }, row) => {
      const slot = scoring.slots[row]!
      return next.postNo[slot] === postNo && gallIdAt(next, slot) === gallId
    })
  if (!same) throw new Error(`the replay of cycle ${cycle.cycleId} scored different posts from its response`)
}
