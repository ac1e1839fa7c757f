/**
 * What two models say of the same rows of stored cycles: from the answer where that was one's, from what a shadow has
 * stored, else from a replay of the recorded request. Heads are weighed with the weights of their cycle.
 */
import type { Codec } from '../codec/index.js'
import {
  headNames,
  type CycleResponse,
  type HeadColumns,
  type HeadName,
  type Weights,
} from '../contract/index.js'
import { placedFailure, unpackHeads } from '../cycle/index.js'
import { ModelError, type Model } from '../model/index.js'
import { missingHeads, scoreRows, type WeightsHistory } from '../pool/index.js'
import type { Position, Store, StoredCycle } from '../store/index.js'
import { CarefulReplay, type LeftOut } from './careful-replay.js'
import { KnownVectors } from './known-vectors.js'
import { replayCycles, type ReplayedCycle } from './replay.js'
import { replayedInputs } from './replayed-inputs.js'

/** Where scores come from, best first. */
export const scoreSources = ['answer', 'shadow', 'replay'] as const
export type ScoreSource = (typeof scoreSources)[number]

/** One model's scores of a cycle, one a scored row in the order of the answer. */
interface SourcedScores {
  readonly source: ScoreSource
  readonly scores: Float64Array
  /** Heads that the model lacks, and that a weight of the cycle asks for. */
  readonly lacking: readonly HeadName[]
}

export interface TwiceScored {
  readonly cycle: StoredCycle
  /** The scored rows. */
  readonly posts: readonly { readonly gallId: string; readonly postNo: number }[]
  readonly first: SourcedScores
  readonly second: SourcedScores
}

export interface ScoredTwiceOptions {
  /** Rising positions of stored cycles. */
  readonly cycles: readonly StoredCycle[]
  readonly versions: readonly [first: string, second: string]
  readonly codec: Codec
  /** A model for cycles that it has not scored; asked for once, and only where there are such. */
  readonly load: (version: string) => Promise<Model>
  /** Hears of each text and picture without which a version is replayed, once. */
  readonly leftOut: (version: string, left: LeftOut) => void
}

/** Texts of one cycle; a bound, not an expectation. */
const encodeMsMax = 60 * 60_000

/** Cycles without scored rows are left out. Rejects with what `load` and a replay reject with. */
export async function* scoredTwice(store: Store, options: ScoredTwiceOptions): AsyncGenerator<TwiceScored> {
  const { cycles, versions, codec } = options
  const history = store.listWeights()
  const [first, second] = versions.map((version) => new Replayer(store, version, options))
  if (first === undefined || second === undefined) return
  const replayed = cycles.filter((cycle) =>
    versions.some((version) => sourceOf(store, cycle, version) === 'replay'),
  )
  const replays = new Replays(store, codec, replayed)
  try {
    for (const cycle of cycles) {
      const answer = readAnswer(store, cycle)
      if (answer.posts.length === 0) continue
      const weights = weightsOf(history, cycle)
      const scoresOf = async (replayer: Replayer): Promise<SourcedScores> => {
        const source = sourceOf(store, cycle, replayer.version)
        if (source === 'answer')
          return { source, scores: answer.scores, lacking: missingHeads(answer.heads, weights) }
        const heads =
          source === 'shadow'
            ? unpackHeads(store.models.readShadowScores(cycle.position, replayer.version) as Uint8Array)
            : await replayer.heads(await replays.at(cycle.position), answer)
        const scores = weighed(heads, weights, answer, `${replayer.version} at ${cycle.cycleId}`)
        return { source, scores, lacking: missingHeads(heads, weights) }
      }
      yield { cycle, posts: answer.posts, first: await scoresOf(first), second: await scoresOf(second) }
    }
  } finally {
    await replays.end()
  }
}

/** Where the scores of a version are to be had. */
export function sourceOf(store: Store, cycle: StoredCycle, version: string): ScoreSource {
  if (cycle.modelVersion === version) return 'answer'
  return store.models.readShadowScores(cycle.position, version) === undefined ? 'replay' : 'shadow'
}

interface Answer {
  readonly posts: readonly { readonly gallId: string; readonly postNo: number }[]
  readonly scores: Float64Array
  /** Null where the answer has no such head. */
  readonly heads: Readonly<Record<HeadName, true | null>>
}

function readAnswer(store: Store, { cycleId }: StoredCycle): Answer {
  const bytes = store.readResponse(cycleId)
  if (bytes === undefined) throw new Error(`the store has no answer of cycle ${cycleId}`)
  const { results } = JSON.parse(Buffer.from(bytes).toString('utf8')) as CycleResponse
  const scored = results.filter(({ status }) => status === 'scored')
  return {
    posts: scored.map(({ gall_id, post_no }) => ({ gallId: gall_id, postNo: post_no })),
    // An answer has the shortest digits that tell a float32 from its neighbours.
    scores: Float64Array.from(scored, ({ score }) => Math.fround(score as number)),
    // A version gives all rows the same heads.
    heads: Object.fromEntries(
      headNames.map((name) => [name, scored[0]?.[name] === undefined ? null : true]),
    ) as Answer['heads'],
  }
}

/** A version may have been set more than once, but never with other weights. */
function weightsOf(history: WeightsHistory, { weightsVersion }: StoredCycle): Weights {
  const setting = history.find(({ version }) => version === weightsVersion)
  if (setting === undefined) throw new Error(`the store has no weights ${weightsVersion}`)
  return setting.weights
}

function weighed(heads: HeadColumns, weights: Weights, { posts }: Answer, whose: string): Float64Array {
  for (const column of Object.values(heads) as (Float32Array | null)[])
    if (column !== null && column.length !== posts.length)
      throw new Error(`${column.length} scores of ${whose}, and ${posts.length} scored posts`)
  return Float64Array.from(scoreRows(heads, weights, posts.length))
}

interface Opened {
  readonly model: Model
  readonly known: KnownVectors
}

/** One model that scores replayed cycles. */
class Replayer {
  readonly version: string
  readonly #store: Store
  readonly #load: (version: string) => Promise<Model>
  readonly #careful: CarefulReplay
  #opened: Opened | null = null

  constructor(store: Store, version: string, { load, leftOut }: ScoredTwiceOptions) {
    this.#store = store
    this.version = version
    this.#load = load
    this.#careful = new CarefulReplay((left) => leftOut(version, left))
  }

  /** Rejects with a `ModelError` that says which version failed, and for which cycle and post. */
  async heads(again: ReplayedCycle, { posts }: Answer): Promise<HeadColumns> {
    checkSamePosts(again, posts)
    const { model, known } = await this.#open()
    const rows = Array.from(posts.keys())
    const encoding = { encodeMsMax, careful: this.#careful, known }
    try {
      const { inputs } = await replayedInputs(this.#store, model, again, rows, encoding)
      return await model.predict(inputs)
    } catch (error) {
      throw placedFailure(error, { version: this.version, cycleId: again.cycle.cycleId, plan: again.plan })
    }
  }

  async #open(): Promise<Opened> {
    if (this.#opened !== null) return this.#opened
    const model = await this.#load(this.version).catch((error: unknown) => {
      if (!(error instanceof ModelError)) throw error
      throw new ModelError(`${this.version}: ${error.message}`, { cause: error })
    })
    return (this.#opened = { model, known: new KnownVectors(this.#store, model) })
  }
}

function checkSamePosts({ cycle, plan }: ReplayedCycle, posts: Answer['posts']): void {
  const { scoring, next } = plan
  const same =
    scoring.count === posts.length &&
    posts.every(({ gallId, postNo }, row) => {
      const slot = scoring.slots[row] as number
      return next.postNo[slot] === postNo && next.galleries[next.gallery[slot] as number] === gallId
    })
  if (!same) throw new Error(`the replay of cycle ${cycle.cycleId} has other scored posts than its answer`)
}

/** Replayed cycles of rising positions, each when it is asked for. */
class Replays {
  readonly #cycles: AsyncGenerator<ReplayedCycle> | null
  #last: ReplayedCycle | null = null

  constructor(store: Store, codec: Codec, cycles: readonly StoredCycle[]) {
    const [from, to] = [cycles[0]?.position, cycles.at(-1)?.position]
    this.#cycles = from === undefined || to === undefined ? null : replayCycles(store, { from, to, codec })
  }

  /** To be read until the next call for another position. */
  async at(position: Position): Promise<ReplayedCycle> {
    while (this.#cycles !== null && (this.#last?.position ?? 0) < position) {
      const next = await this.#cycles.next()
      if (next.done === true) break
      this.#last = next.value
    }
    if (this.#last?.position !== position) throw new Error(`there is no replay of position ${position}`)
    return this.#last
  }

  async end(): Promise<void> {
    await this.#cycles?.return(undefined)
  }
}
