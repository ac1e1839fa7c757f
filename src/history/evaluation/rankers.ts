/**
 * The rankers of a report and the scores by which each orders the pool of a cycle: the model in force, other versions, and
 * baselines that need no model.
 */
import { unpackHeads } from '../../cycle/index.js'
import { scoreRows, type WeightsHistory } from '../../pool/index.js'
import type { Position, Store, StoredCycle } from '../../store/index.js'
import type { PastCycle } from '../past/index.js'
import type { EvaluationWindow } from './window.js'

export type Scores = Float64Array | Float32Array

export interface Ranker {
  readonly name: string
  /**
   * Null for a cycle that the ranker did not score. A score per scored row; NaN for none. `visitOfRow`: -1 for a row
   * outside of the visits of its post.
   */
  scores(cycle: PastCycle, visitOfRow: Int32Array): Scores | null
}

export const baselineNames = ['views', 'up', 'comment_cnt', 'rtb_vote', 'newest', 'up_per_view'] as const

export function modelRanker(): Ranker {
  return { name: 'model', scores: ({ scored }) => scored.score }
}

/**
 * A version: its scores where it was in force, else those that it gave as a shadow, else those of a replay.
 * `replayed`: by store position.
 */
export function versionRanker(
  version: string,
  store: Store,
  replayed: ReadonlyMap<Position, Float32Array>,
): Ranker {
  const history = store.listWeights()
  return {
    name: `shadow:${version}`,
    scores(cycle) {
      if (cycle.modelVersion === version) return cycle.scored.score
      const scores = shadowScores(store, cycle, version, history) ?? replayed.get(cycle.position)
      if (scores === undefined) return null
      if (scores.length !== cycle.scored.count)
        throw new Error(
          `${scores.length} scores of ${version} at ${cycle.cycleId}, and ${cycle.scored.count} scored posts`,
        )
      return scores
    },
  }
}

/** The stored scores of a shadow, with the weights of the cycle; undefined where there are none. */
export function shadowScores(
  store: Store,
  { position, weightsVersion }: StoredCycle,
  version: string,
  history: WeightsHistory,
): Float32Array | undefined {
  const packed = store.models.readShadowScores(position, version)
  if (packed === undefined) return undefined
  const heads = unpackHeads(packed)
  const setting = history.find((entry) => entry.version === weightsVersion)
  if (setting === undefined) throw new Error(`the store has no weights ${weightsVersion}`)
  const count = Object.values(heads).find((column) => column !== null)?.length ?? 0
  return scoreRows(heads, setting.weights, count)
}

export function baselineRankers({ entries, visits }: EvaluationWindow): Ranker[] {
  const scoresOf: Record<
    (typeof baselineNames)[number],
    (cycle: PastCycle, visitOfRow: Int32Array) => Scores
  > = {
    views: ({ scored }) => scored.views,
    up: ({ scored }) => scored.up,
    comment_cnt: ({ scored }) => scored.comment_cnt,
    rtb_vote: ({ scored }) => scored.rtb_vote,
    newest: (_, visitOfRow) => {
      // A loop: `Float64Array.from` allocates an object for each value.
      const created = new Float64Array(visitOfRow.length)
      for (let row = 0; row < created.length; row++)
        created[row] = entries.createdMs(visits.entry[visitOfRow[row] as number] ?? -1)
      return created
    },
    // NaN where one of them is null.
    up_per_view: ({ scored: { up, views } }) =>
      up.map((value, row) => value / Math.max(views[row] as number, 1)),
  }
  return baselineNames.map((name) => ({ name, scores: scoresOf[name] }))
}
