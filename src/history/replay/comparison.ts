/**
 * Compares the scores of two models for the same posts: their order, the overlap of the best posts, and the differences.
 * Pure functions of the scores.
 */
import type { AgreementFigures, MoverFigures, ScoreFigures } from '../../contract/index.js'
import { averageRanks, highest, quantile, spearman } from '../evaluation/ranking.js'

/** Depths at which the overlap of the best posts is computed. */
export const overlapDepths = [10, 50, 100] as const

/** Shares of the scores that lie below each quantile. */
export const quantileShares = [0, 0.1, 0.25, 0.5, 0.75, 0.9, 1] as const

type Ranks = Pick<MoverFigures, 'first_rank' | 'second_rank'>

/** A post that two models rank differently. */
export interface Mover extends Ranks {
  readonly row: number
}

export function compareScores(first: Float64Array, second: Float64Array): AgreementFigures {
  if (first.length !== second.length) throw new Error('the two models scored different posts')
  const differences = first.map((value, row) => second[row]! - value)
  const ordered = varies(first) && varies(second)
  return {
    rank_correlation: spearman(first, second),
    overlap: Object.fromEntries(
      overlapDepths.map((depth) => [depth, ordered ? overlapAt(first, second, depth) : null]),
    ),
    mean_signed_difference: mean(differences),
    mean_absolute_difference: mean(differences.map(Math.abs)),
  }
}

/** The posts whose ranks differ most, at most `countMax` of them; none if one side ranks all posts the same. */
export function largestMovers(first: Float64Array, second: Float64Array, countMax: number): Mover[] {
  if (!varies(first) || !varies(second)) return []
  // The best score ranks 1.
  const [firstRanks, secondRanks] = [first, second].map((scores) =>
    averageRanks(scores.map((value) => -value)),
  )
  return Array.from(first.keys(), (row) => ({
    row,
    first_rank: firstRanks![row]!,
    second_rank: secondRanks![row]!,
  }))
    .filter((mover) => rankDistance(mover) > 0)
    .sort((a, b) => rankDistance(b) - rankDistance(a) || a.row - b.row)
    .slice(0, countMax)
}

export function rankDistance({ first_rank, second_rank }: Ranks): number {
  return Math.abs(first_rank - second_rank)
}

function varies(scores: Float64Array): boolean {
  return scores.some((score) => score !== scores[0])
}

function overlapAt(first: Float64Array, second: Float64Array, depth: number): number | null {
  if (first.length < depth) return null
  // The first of equal scores wins, as operators read the list.
  const bestOf = (scores: Float64Array): number[] => highest(scores, [...scores.keys()], depth)
  const best = new Set(bestOf(first))
  return bestOf(second).filter((row) => best.has(row)).length / depth
}

export function scoreFigures(scores: Float64Array): ScoreFigures {
  return {
    distinct_scores: new Set(scores).size,
    mean: mean(scores),
    quantiles: Object.fromEntries(quantileShares.map((share) => [share, quantile(scores, share)!])),
  }
}

function mean(values: Float64Array): number {
  return values.length === 0 ? NaN : values.reduce((sum, value) => sum + value, 0) / values.length
}
