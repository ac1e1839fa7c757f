/**
 * Features of the scored posts of exported cycles, from a replay.
 */
import type { Codec } from '../../codec/index.js'
import { compileFeatures, type Feature, type FillFeatures } from '../../model/index.js'
import { gallIdAt } from '../../pool/index.js'
import type { Position, Store, StoredCycle } from '../../store/index.js'
import { replayAt, replayCycles, type ReplayedCycle } from '../replay.js'
import type { PostNumbers } from './post-numbers.js'

export interface FeatureColumns {
  /** Row-major [rows, features]; NaN where missing. */
  readonly matrix: Float32Array
  /** The row of a post. */
  readonly rowOf: ReadonlyMap<number, number>
}

export class FeatureReader {
  readonly #posts: PostNumbers
  readonly #width: number
  readonly #fill: FillFeatures | null
  readonly #replays: AsyncGenerator<ReplayedCycle>

  /** `cycles`: those that will be read, in order of arrival. */
  constructor(
    store: Store,
    { codec, features }: { readonly codec: Codec; readonly features: readonly Feature[] },
    posts: PostNumbers,
    cycles: readonly StoredCycle[],
  ) {
    this.#posts = posts
    this.#width = features.length
    this.#fill = features.length === 0 ? null : compileFeatures(features, { codec, missing: 'nan' })
    const from = cycles[0]?.position ?? 1
    this.#replays = replayCycles(store, { from, to: cycles.at(-1)?.position ?? 0, codec })
  }

  /** Null without features. */
  async at(position: Position): Promise<FeatureColumns | null> {
    if (this.#fill === null) return null
    return this.#columnsOf(await replayAt(this.#replays, position), this.#fill)
  }

  close(): Promise<unknown> {
    return this.#replays.return(undefined)
  }

  #columnsOf({ plan: { scoring, next }, inputState }: ReplayedCycle, fill: FillFeatures): FeatureColumns {
    const matrix = new Float32Array(scoring.count * this.#width)
    fill({ ...scoring, ...inputState }, matrix)
    const slots = Array.from(scoring.slots.subarray(0, scoring.count))
    const rows = slots.map((slot, row): [number, number] => [
      this.#posts.number(gallIdAt(next, slot), next.postNo[slot] as number),
      row,
    ])
    return { matrix, rowOf: new Map(rows) }
  }
}
