/**
 * The rankers of a report and the scores by which each orders the pool of a cycle: the model that served, other versions, and
 * baselines that need no model.
 */
import type { Baseline } from '../../contract/index.js'
import type { Store, StoredCycle } from '../../store/index.js'
import type { RecordedScores } from '../recorded/recorded-cycles.js'
import { shadowHeads, weightedScores, weightsOf, type ReplayedScores } from '../replay/version-scores.js'
import type { EvaluationWindow } from './window.js'

export type Scores = Float64Array | Float32Array

export interface Ranker {
  readonly name: string
  /** The versions whose scores it has; none for a baseline. */
  readonly versions: readonly string[]
  /**
   * Null for a cycle that the ranker did not score. A score per scored row; NaN for none. `visitOfRow`: -1 for a row
   * outside of the visits of its post.
   */
  scores(scored: RecordedScores, cycle: StoredCycle, visitOfRow: Int32Array): Scores | null
}

/** `versions`: those that served. */
export function modelRanker(versions: readonly string[]): Ranker {
  return { name: 'model', versions, scores: ({ score }) => score }
}

/** A version: its scores in cycles that it served, else its shadow scores, else those of a replay. */
export function versionRanker(version: string, store: Store, replayed?: ReplayedScores): Ranker {
  return {
    name: `shadow:${version}`,
    versions: [version],
    scores({ score }, cycle) {
      if (cycle.modelVersion === version) return score
      const heads = shadowHeads(store, cycle, version)
      if (heads === undefined) return replayed?.get(version, cycle.position) ?? null
      const weights = weightsOf(store, cycle.weightsVersion)
      return weightedScores(heads, weights, score.length, `${version} at ${cycle.cycleId}`)
    },
  }
}

export function baselineRankers({ entries, visits }: EvaluationWindow): Ranker[] {
  const scoresOf: Readonly<Record<Baseline, Ranker['scores']>> = {
    views: ({ views }) => views,
    up: ({ up }) => up,
    comment_cnt: ({ comment_cnt }) => comment_cnt,
    rtb_vote: ({ rtb_vote }) => rtb_vote,
    newest: (_, __, visitOfRow) => {
      // A loop: `Float64Array.from` allocates an object for each value.
      const created = new Float64Array(visitOfRow.length)
      for (let row = 0; row < created.length; row++)
        created[row] = entries.createdMs[visits.entry[visitOfRow[row]!] ?? -1] ?? NaN
      return created
    },
    // NaN if one of them is null.
    up_per_view: ({ up, views }) => up.map((value, row) => value / Math.max(views[row]!, 1)),
  }
  return Object.entries(scoresOf).map(([name, scores]) => ({ name, versions: [], scores }))
}
