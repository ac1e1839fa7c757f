/**
 * The counts and the results of a response, in columns: a result for each pending post in order of entry, then one for
 * each unknown post in request order (docs/contract.md).
 */
import {
  outcome,
  type Counts,
  type CycleColumns,
  type HeadColumns,
  type ResultColumns,
} from '../contract/index.js'
import { scoreRows, type CyclePlan, type WeightsSetting } from '../pool/index.js'

export function countsOf(cycle: CycleColumns, plan: CyclePlan): Counts {
  const waiting = countOf(plan.outcomes, outcome.waiting)
  const results = plan.outcomes.length + plan.unknownRows.length
  return {
    candidates: cycle.candidates.count,
    engagement: cycle.engagement.count,
    candidate_scores: cycle.candidateScores.count,
    removals: cycle.removals.count,
    scored_now: plan.scoring.count,
    waiting,
    not_scored: results - plan.scoring.count - waiting,
    results,
  }
}

function countOf(codes: Uint8Array, code: number): number {
  let count = 0
  for (const each of codes) if (each === code) count++
  return count
}

export function resultsOf(
  cycle: CycleColumns,
  plan: CyclePlan,
  heads: HeadColumns,
  weights: WeightsSetting,
): ResultColumns {
  const { next, unknownRows, outcomes, scoring } = plan
  const score = scoreRows(heads, weights.weights, scoring.count)
  if (unknownRows.length === 0)
    return {
      count: next.count,
      galleries: next.galleries,
      gallery: next.gallery,
      postNo: next.postNo,
      outcome: outcomes,
      score,
      heads,
    }
  const count = next.count + unknownRows.length
  const gallery = new Uint32Array(count)
  const postNo = new Float64Array(count)
  const codes = new Uint8Array(count).fill(outcome.unknownPost)
  gallery.set(next.gallery)
  postNo.set(next.postNo)
  codes.set(outcomes)
  unknownRows.forEach((row, i) => {
    // In `galleries`, the ids of the cycle follow those of the pool.
    gallery[next.count + i] = next.galleries.length + cycle.engagement.gallery[row]!
    postNo[next.count + i] = cycle.engagement.postNo[row]!
  })
  const galleries = [...next.galleries, ...cycle.galleries]
  return { count, galleries, gallery, postNo, outcome: codes, score, heads }
}
