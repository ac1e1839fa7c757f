/**
 * The rankers of a report and the scores by which each orders the pool of a cycle: the model that served, other versions, and
 * baselines that need no model.
 */
import type { Position, Store, StoredCycle } from '../../store/index.js'
import type { RecordedScores } from '../recorded-cycles.js'
import { shadowHeads, weightedScores, weightsOf } from '../score-pairs.js'
import type { EvaluationWindow } from './window.js'

export type Scores = Float64Array | Float32Array

export interface Ranker {
  readonly name: string
  /**
   * Null for a cycle that the ranker did not score. A score per scored row; NaN for none. `visitOfRow`: -1 for a row
   * outside of the visits of its post.
   */
  scores(scored: RecordedScores, cycle: StoredCycle, visitOfRow: Int32Array): Scores | null
}

export const baselineNames = ['views', 'up', 'comment_cnt', 'rtb_vote', 'newest', 'up_per_view'] as const

export function modelRanker(): Ranker {
  return { name: 'model', scores: ({ score }) => score }
}

/**
 * A version: its scores in cycles that it served, else its shadow scores, else those of a replay.
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
    scores({ score, count }, cycle) {
      if (cycle.modelVersion === version) return score
      const heads = shadowHeads(store, cycle, version)
      const scores =
        heads === undefined
          ? replayed.get(cycle.position)
          : weightedScores(heads, weightsOf(history, cycle), count, `${version} at ${cycle.cycleId}`)
      if (scores === undefined) return null
      if (scores.length !== count)
        throw new Error(
          `${scores.length} scores of ${version} at ${cycle.cycleId}, and ${count} scored posts`,
        )
      return scores
    },
  }
}

export function baselineRankers({ entries, visits }: EvaluationWindow): Ranker[] {
  const scoresOf: Record<(typeof baselineNames)[number], Ranker['scores']> = {
    views: ({ views }) => views,
    up: ({ up }) => up,
    comment_cnt: ({ comment_cnt }) => comment_cnt,
    rtb_vote: ({ rtb_vote }) => rtb_vote,
    newest: (_, __, visitOfRow) => {
      // A loop: `Float64Array.from` allocates an object for each value.
      const created = new Float64Array(visitOfRow.length)
      for (let row = 0; row < created.length; row++)
        created[row] = entries.createdMs[visits.entry[visitOfRow[row] as number] ?? -1] ?? NaN
      return created
    },
    // NaN where one of them is null.
    up_per_view: ({ up, views }) => up.map((value, row) => value / Math.max(views[row] as number, 1)),
  }
  return baselineNames.map((name) => ({ name, scores: scoresOf[name] }))
}
