/**
 * Features of the scored posts of stored cycles, from a replay: the columns of an export, and the rows of `models matrix`.
 */
import { compileFeatures, type Feature, type MissingValues } from '../../model/index.js'
import { gallIdAt } from '../../pool/index.js'
import type { Position, Store, StoredCycle } from '../../store/index.js'
import { replayAt, replayCycles, type ReplayedCycle } from '../replay/replay.js'
import type { Staging } from './staging.js'

/** Computes the features of all scored posts of a cycle, row by row. */
export function featureMatrices(
  features: readonly Feature[],
  missing: MissingValues,
): (cycle: ReplayedCycle) => Float32Array {
  const fill = compileFeatures(features, missing)
  return ({ plan: { scoring }, inputState }) => {
    const matrix = new Float32Array(scoring.count * features.length)
    fill({ ...scoring, ...inputState }, matrix)
    return matrix
  }
}

export class ExportedFeatures {
  readonly #staging: Staging
  readonly #features: readonly Feature[]
  readonly #matrixOf: (cycle: ReplayedCycle) => Float32Array
  readonly #replays: AsyncGenerator<ReplayedCycle>

  /** `cycles`: those that will be read, in order of arrival. */
  constructor(
    store: Store,
    staging: Staging,
    { features, missing }: { readonly features: readonly Feature[]; readonly missing: MissingValues },
    cycles: readonly StoredCycle[],
  ) {
    this.#staging = staging
    this.#features = features
    this.#matrixOf = featureMatrices(features, missing)
    const [from, to] = [cycles[0]?.position ?? 1, cycles.at(-1)?.position ?? 0]
    this.#replays = replayCycles(store, { from, to })
  }

  /** The columns of the features of some posts of a cycle; NaN for posts that it did not score. */
  async columns(position: Position, posts: Int32Array): Promise<Record<string, Float32Array>> {
    const width = this.#features.length
    if (width === 0) return {}
    const replayed = await replayAt(this.#replays, position)
    const { scoring, next } = replayed.plan
    const matrix = this.#matrixOf(replayed)
    const rowOf = new Map<number, number>()
    for (let row = 0; row < scoring.count; row++) {
      const slot = scoring.slots[row]!
      rowOf.set(this.#staging.postNumber(gallIdAt(next, slot), next.postNo[slot]!), row)
    }
    const rows = Int32Array.from(posts, (post) => rowOf.get(post) ?? -1)
    return Object.fromEntries(
      this.#features.map(({ name }, column) => {
        const values = new Float32Array(rows.length).fill(NaN)
        for (let at = 0; at < rows.length; at++) {
          const row = rows[at]!
          if (row >= 0) values[at] = matrix[row * width + column]!
        }
        return [name, values]
      }),
    )
  }

  close(): Promise<unknown> {
    return this.#replays.return(undefined)
  }
}
