/**
 * Scores of two models for the same rows of stored cycles. They come from the response, from the stored scores of a
 * shadow, or from a replay of the recorded request. Heads are weighted with the weights of their cycle.
 */
import type { Codec } from '../codec/index.js'
import { headNames, type HeadColumns, type HeadName, type Weights } from '../contract/index.js'
import { placedFailure, Quarantine, unpackHeads } from '../cycle/index.js'
import { ModelError, type Model } from '../model/index.js'
import { gallIdAt, missingHeads, scoreRows, type WeightsHistory } from '../pool/index.js'
import type { Position, Store, StoredCycle } from '../store/index.js'
import { VectorCache } from './vector-cache.js'
import { replayCycles, type ReplayedCycle } from './replay.js'
import { readResponse } from './records.js'
import { replayedInputs, type ExcludedInput, type ReplayEncoding } from './replayed-inputs.js'

/** Where scores come from, in order of preference. */
export const scoreSources = ['response', 'shadow', 'replay'] as const
export type ScoreSource = (typeof scoreSources)[number]

/** One model's scores of a cycle, one per scored row, in the order of the response. */
interface SourcedScores {
  readonly source: ScoreSource
  readonly scores: Float64Array
  /** Heads that the model lacks and that have a weight in this cycle. */
  readonly lacking: readonly HeadName[]
}

export interface ScorePair {
  readonly cycle: StoredCycle
  /** The scored rows. */
  readonly posts: readonly { readonly gallId: string; readonly postNo: number }[]
  readonly first: SourcedScores
  readonly second: SourcedScores
}

export interface ScorePairsOptions {
  /** Stored cycles in order of arrival. */
  readonly cycles: readonly StoredCycle[]
  readonly versions: readonly [first: string, second: string]
  readonly codec: Codec
  /** Loads a model for cycles that it has not scored. Called at most once per version. */
  readonly load: (version: string) => Promise<Model>
  /** Called once for each text and image that a replay leaves out. */
  readonly onExcluded: (version: string, left: ExcludedInput) => void
}

/** Time limit for the texts of one cycle. */
const encodeMsMax = 60 * 60_000

/** Skips cycles without scored rows. Rejects with the errors of `load` and of a replay. */
export async function* scorePairs(store: Store, options: ScorePairsOptions): AsyncGenerator<ScorePair> {
  const { cycles, versions, codec } = options
  const history = store.listWeights()
  const [first, second] = versions.map((version) => new Replayer(store, version, options))
  if (first === undefined || second === undefined) return
  const replayed = cycles
    .filter((cycle) => versions.some((version) => sourceOf(store, cycle, version) === 'replay'))
    .map(({ position }) => position)
  const replays = replayCycles(store, { from: replayed[0] ?? 1, to: replayed.at(-1) ?? 0, codec })
  try {
    for (const cycle of cycles) {
      const response = readScoredRows(store, cycle)
      if (response.posts.length === 0) continue
      const weights = weightsOf(history, cycle)
      let again: Promise<ReplayedCycle> | null = null
      const scoresOf = async (replayer: Replayer): Promise<SourcedScores> => {
        const source = sourceOf(store, cycle, replayer.version)
        if (source === 'response')
          return { source, scores: response.scores, lacking: missingHeads(response.heads, weights) }
        const heads =
          source === 'shadow'
            ? unpackHeads(store.models.readShadowScores(cycle.position, replayer.version) as Uint8Array)
            : await replayer.heads(await (again ??= replayAt(replays, cycle.position)), response)
        const scores = weightedScores(heads, weights, response, `${replayer.version} at ${cycle.cycleId}`)
        return { source, scores, lacking: missingHeads(heads, weights) }
      }
      yield { cycle, posts: response.posts, first: await scoresOf(first), second: await scoresOf(second) }
    }
  } finally {
    await replays.return(undefined)
  }
}

export interface ReplayScoresOptions extends Omit<ScorePairsOptions, 'versions'> {
  readonly version: string
}

/**
 * Scores of a version, by store position, for the cycles that it has neither served nor scored as a shadow. Cycles whose
 * request has expired are left out. Rejects with the errors of `load` and of a replay.
 */
export async function replayScores(
  store: Store,
  { version, ...options }: ReplayScoresOptions,
): Promise<Map<Position, Float32Array>> {
  const scores = new Map<Position, Float32Array>()
  const history = store.listWeights()
  const missing = options.cycles
    .filter((cycle) => sourceOf(store, cycle, version) === 'replay' && store.findCycle(cycle.cycleId))
    .sort((a, b) => a.position - b.position)
  const [first, last] = [missing[0], missing.at(-1)]
  if (first === undefined || last === undefined) return scores
  const replayer = new Replayer(store, version, { ...options, versions: [version, version] })
  const replays = replayCycles(store, { from: first.position, to: last.position, codec: options.codec })
  try {
    for (const cycle of missing) {
      const response = readScoredRows(store, cycle)
      if (response.posts.length === 0) continue
      const heads = await replayer.heads(await replayAt(replays, cycle.position), response)
      const whose = `${version} at ${cycle.cycleId}`
      const weighted = weightedScores(heads, weightsOf(history, cycle), response, whose)
      scores.set(cycle.position, Float32Array.from(weighted))
    }
  } finally {
    await replays.return(undefined)
  }
  return scores
}

/** The best source for the scores of a version. */
export function sourceOf(store: Store, cycle: StoredCycle, version: string): ScoreSource {
  if (cycle.modelVersion === version) return 'response'
  return store.models.readShadowScores(cycle.position, version) === undefined ? 'replay' : 'shadow'
}

interface ScoredRows {
  readonly posts: readonly { readonly gallId: string; readonly postNo: number }[]
  readonly scores: Float64Array
  /** Null where the response has no such head. */
  readonly heads: Readonly<Record<HeadName, true | null>>
}

function readScoredRows(store: Store, { cycleId }: StoredCycle): ScoredRows {
  const { results } = readResponse(store, cycleId)
  const scored = results.filter(({ status }) => status === 'scored')
  return {
    posts: scored.map(({ gall_id, post_no }) => ({ gallId: gall_id, postNo: post_no })),
    // A response has the shortest decimal digits that identify a float32.
    scores: Float64Array.from(scored, ({ score }) => Math.fround(score as number)),
    // A version gives all rows the same heads.
    heads: Object.fromEntries(
      headNames.map((name) => [name, scored[0]?.[name] === undefined ? null : true]),
    ) as ScoredRows['heads'],
  }
}

/** A version may be set more than once, but always with the same weights. */
export function weightsOf(history: WeightsHistory, { weightsVersion }: StoredCycle): Weights {
  const setting = history.find(({ version }) => version === weightsVersion)
  if (setting === undefined) throw new Error(`the store has no weights ${weightsVersion}`)
  return setting.weights
}

function weightedScores(
  heads: HeadColumns,
  weights: Weights,
  { posts }: ScoredRows,
  whose: string,
): Float64Array {
  for (const column of Object.values(heads) as (Float32Array | null)[])
    if (column !== null && column.length !== posts.length)
      throw new Error(`${column.length} scores of ${whose}, and ${posts.length} scored posts`)
  return Float64Array.from(scoreRows(heads, weights, posts.length))
}

/** One model that scores replayed cycles. */
class Replayer {
  readonly version: string
  readonly #store: Store
  readonly #load: (version: string) => Promise<Model>
  readonly #onExcluded: (left: ExcludedInput) => void
  #opened: { readonly model: Model; readonly encoding: ReplayEncoding } | null = null

  constructor(store: Store, version: string, { load, onExcluded }: ScorePairsOptions) {
    this.#store = store
    this.version = version
    this.#load = load
    this.#onExcluded = (left) => onExcluded(version, left)
  }

  /** Rejects with a `ModelError` that names the version, the cycle and the post. */
  async heads(again: ReplayedCycle, { posts }: ScoredRows): Promise<HeadColumns> {
    checkSamePosts(again, posts)
    const { model, encoding } = await this.#open()
    const rows = Array.from(posts.keys())
    try {
      const { inputs } = await replayedInputs(this.#store, model, again, rows, encoding)
      return await model.predict(inputs)
    } catch (error) {
      throw placedFailure(error, {
        version: this.version,
        what: `cycle ${again.cycle.cycleId}`,
        plan: again.plan,
      })
    }
  }

  async #open(): Promise<{ readonly model: Model; readonly encoding: ReplayEncoding }> {
    if (this.#opened !== null) return this.#opened
    const model = await this.#load(this.version).catch((error: unknown) => {
      if (!(error instanceof ModelError)) throw error
      throw new ModelError(`${this.version}: ${error.message}`, { cause: error })
    })
    const cache = new VectorCache(this.#store, model)
    const encoding = { encodeMsMax, quarantine: new Quarantine(), onExcluded: this.#onExcluded, cache }
    return (this.#opened = { model, encoding })
  }
}

function checkSamePosts({ cycle, plan }: ReplayedCycle, posts: ScoredRows['posts']): void {
  const { scoring, next } = plan
  const same =
    scoring.count === posts.length &&
    posts.every(({ gallId, postNo }, row) => {
      const slot = scoring.slots[row] as number
      return next.postNo[slot] === postNo && gallIdAt(next, slot) === gallId
    })
  if (!same) throw new Error(`the replay of cycle ${cycle.cycleId} has other scored posts than its response`)
}

/** The cycle at a position of a replay that has not reached it; valid until another one is requested. */
async function replayAt(replays: AsyncGenerator<ReplayedCycle>, position: Position): Promise<ReplayedCycle> {
  for (;;) {
    const next = await replays.next()
    if (next.done === true) throw new Error(`there is no replay of position ${position}`)
    if (next.value.position === position) return next.value
  }
}
