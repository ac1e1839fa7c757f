/**
 * Compares the scores of two models for the same posts: their order, the overlap of the best posts, and the differences.
 * Pure functions of the scores.
 */

/** Depths at which the overlap of the best posts is computed. */
export const overlapDepths = [10, 50, 100] as const

/** Shares of the scores that lie below each quantile. */
export const quantileShares = [0, 0.1, 0.25, 0.5, 0.75, 0.9, 1] as const

export interface Distribution {
  readonly distinctCount: number
  readonly mean: number
  /** One for each of `quantileShares`. */
  readonly quantiles: readonly number[]
}

export interface Agreement {
  readonly count: number
  /** Spearman's rank correlation, ties sharing their mean rank; null where one side ranks all posts the same. */
  readonly rankCorrelation: number | null
  /**
   * For each of `overlapDepths`: share of the first model's best that are among the second's; null for fewer posts, and
   * where one side ranks all posts the same.
   */
  readonly overlap: readonly (number | null)[]
  readonly first: Distribution
  readonly second: Distribution
  /** Second minus first: distinguishes a shift of all scores from a change of order. */
  readonly meanSignedDifference: number
  readonly meanAbsoluteDifference: number
}

/** A post that two models rank differently. Ranks count from 1, the best; ties share their mean rank. */
export interface Mover {
  readonly row: number
  readonly firstRank: number
  readonly secondRank: number
}

export function compareScores(first: Float64Array, second: Float64Array): Agreement {
  if (first.length !== second.length) throw new Error('the two models scored different posts')
  const differences = first.map((value, row) => (second[row] as number) - value)
  const ordered = varies(first) && varies(second)
  return {
    count: first.length,
    rankCorrelation: correlation(meanRanks(first), meanRanks(second)),
    overlap: overlapDepths.map((depth) => (ordered ? overlapAt(first, second, depth) : null)),
    first: distribution(first),
    second: distribution(second),
    meanSignedDifference: mean(differences),
    meanAbsoluteDifference: mean(differences.map(Math.abs)),
  }
}

/** The posts whose ranks differ most, at most `countMax` of them; none where one side ranks all posts the same. */
export function largestMovers(first: Float64Array, second: Float64Array, countMax: number): Mover[] {
  if (!varies(first) || !varies(second)) return []
  const [firstRanks, secondRanks] = [meanRanks(first), meanRanks(second)]
  return Array.from(first.keys(), (row) => ({
    row,
    firstRank: firstRanks[row] as number,
    secondRank: secondRanks[row] as number,
  }))
    .filter(({ firstRank, secondRank }) => firstRank !== secondRank)
    .sort((a, b) => distance(b) - distance(a) || a.row - b.row)
    .slice(0, countMax)
}

function distance({ firstRank, secondRank }: Mover): number {
  return Math.abs(firstRank - secondRank)
}

function varies(scores: Float64Array): boolean {
  return scores.some((score) => score !== scores[0])
}

/** Rows from the best score to the worst; of equal ones the first row first, as operators read the list. */
function order(scores: Float64Array): number[] {
  return Array.from(scores.keys()).sort((a, b) => (scores[b] as number) - (scores[a] as number) || a - b)
}

function meanRanks(scores: Float64Array): Float64Array {
  const rows = order(scores)
  const ranks = new Float64Array(scores.length)
  for (let from = 0; from < rows.length;) {
    let to = from + 1
    while (to < rows.length && scores[rows[to] as number] === scores[rows[from] as number]) to++
    for (let place = from; place < to; place++) ranks[rows[place] as number] = (from + 1 + to) / 2
    from = to
  }
  return ranks
}

/** Pearson's, or null where one side does not vary. */
function correlation(a: Float64Array, b: Float64Array): number | null {
  const [meanA, meanB] = [mean(a), mean(b)]
  let [both, ofA, ofB] = [0, 0, 0]
  for (let row = 0; row < a.length; row++) {
    const [x, y] = [(a[row] as number) - meanA, (b[row] as number) - meanB]
    both += x * y
    ofA += x * x
    ofB += y * y
  }
  return ofA > 0 && ofB > 0 ? both / Math.sqrt(ofA * ofB) : null
}

function overlapAt(first: Float64Array, second: Float64Array, depth: number): number | null {
  if (first.length < depth) return null
  const best = new Set(order(first).slice(0, depth))
  return (
    order(second)
      .slice(0, depth)
      .filter((row) => best.has(row)).length / depth
  )
}

function distribution(scores: Float64Array): Distribution {
  const sorted = Float64Array.from(scores).sort()
  return {
    distinctCount: new Set(scores).size,
    mean: mean(scores),
    quantiles: quantileShares.map((share) => quantile(sorted, share)),
  }
}

/** Between two values in proportion, as most libraries do it. */
function quantile(sorted: Float64Array, share: number): number {
  const place = share * (sorted.length - 1)
  const below = sorted[Math.floor(place)] ?? NaN
  const above = sorted[Math.ceil(place)] ?? NaN
  return below + (above - below) * (place - Math.floor(place))
}

function mean(values: Float64Array): number {
  return values.length === 0 ? NaN : values.reduce((sum, value) => sum + value, 0) / values.length
}
