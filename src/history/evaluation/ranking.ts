/**
 * Ranks and ranking metrics of one list of scores, as docs/evaluation.md defines them. A higher score ranks first, and equal
 * scores share their average rank. A missing score ranks below every number: see `sortKeys`. Pure functions.
 */

/** The scores with -Infinity for NaN, a missing one. */
export function sortKeys(scores: Float64Array | Float32Array): Float64Array {
  const keys = new Float64Array(scores)
  for (let row = 0; row < keys.length; row++) if (Number.isNaN(keys[row])) keys[row] = -Infinity
  return keys
}

/** How many of the `rows` rank above, and how many tie with, a score. Rows are indexes of `scores`. */
export function rankAmong(
  scores: Float64Array,
  rows: ArrayLike<number>,
  score: number,
): { readonly above: number; readonly tied: number } {
  let [above, tied] = [0, 0]
  for (let index = 0; index < rows.length; index++) {
    const other = scores[rows[index]!]!
    if (other > score) above++
    else if (other === score) tied++
  }
  return { above, tied }
}

/**
 * The `count` highest of `rows`, highest first; of equal scores the earlier row first. Selection by a bounded insertion
 * sort: `count` is small, and most rows are below the lowest one selected.
 */
export function highest(scores: Float64Array, rows: ArrayLike<number>, count: number): number[] {
  const best: number[] = []
  if (count <= 0) return best
  for (let index = 0; index < rows.length; index++) {
    const row = rows[index]!
    const score = scores[row]!
    if (best.length === count && score <= scores[best[count - 1]!]!) continue
    if (best.length === count) best.pop()
    let at = best.length
    while (at > 0 && scores[best[at - 1]!]! < score) at--
    best.splice(at, 0, row)
  }
  return best
}

/** Normalised discounted cumulative gain of the first `depth` rows: binary gain, log2 discount. NaN without a relevant row. */
export function ndcg(
  ranked: readonly number[],
  isRelevant: (row: number) => boolean,
  relevantCount: number,
  depth: number,
): number {
  let gain = 0
  for (const [index, row] of ranked.slice(0, depth).entries())
    if (isRelevant(row)) gain += 1 / Math.log2(index + 2)
  let ideal = 0
  for (let index = 0; index < Math.min(relevantCount, depth); index++) ideal += 1 / Math.log2(index + 2)
  return gain / ideal
}

/** Area under the ROC curve: the share of pairs in order, ties counting half. Null if a class is empty. */
export function rocAuc(scores: Float64Array, isPositive: Uint8Array): number | null {
  const ranks = averageRanks(scores)
  let [positives, rankSum] = [0, 0]
  for (const [row, rank] of ranks.entries()) {
    if (isPositive[row] === 0) continue
    positives++
    rankSum += rank
  }
  const negatives = scores.length - positives
  if (positives === 0 || negatives === 0) return null
  return (rankSum - (positives * (positives + 1)) / 2) / (positives * negatives)
}

/** scikit-learn's `average_precision_score`: the sum over distinct scores of recall gained times precision. */
export function averagePrecision(scores: Float64Array, isPositive: Uint8Array): number | null {
  const rows = ascending(scores).reverse()
  const positives = isPositive.reduce((sum, value) => sum + value, 0)
  if (positives === 0) return null
  let [truePositives, sum] = [0, 0]
  for (let from = 0; from < rows.length;) {
    let to = from
    let tiedPositives = 0
    const score = scores[rows[from]!]
    while (to < rows.length && scores[rows[to]!] === score) tiedPositives += isPositive[rows[to++]!]!
    truePositives += tiedPositives
    sum += (tiedPositives / positives) * (truePositives / to)
    from = to
  }
  return sum
}

/** Spearman's correlation over the rows in which both are numbers. Null for fewer than two, or if one side is constant. */
export function spearman(first: Float64Array, second: Float64Array): number | null {
  const rows = [...first.keys()].filter((row) => !Number.isNaN(first[row]) && !Number.isNaN(second[row]))
  const a = averageRanks(Float64Array.from(rows, (row) => first[row]!))
  const b = averageRanks(Float64Array.from(rows, (row) => second[row]!))
  const mean = (rows.length + 1) / 2
  let [both, ofA, ofB] = [0, 0, 0]
  for (let row = 0; row < rows.length; row++) {
    const [x, y] = [a[row]! - mean, b[row]! - mean]
    both += x * y
    ofA += x * x
    ofB += y * y
  }
  return ofA > 0 && ofB > 0 ? both / Math.sqrt(ofA * ofB) : null
}

/** Linear interpolation between the closest values, NumPy's default. Null without values. */
export function quantile(values: ArrayLike<number>, share: number): number | null {
  if (values.length === 0) return null
  const sorted = Float64Array.from(values).sort()
  const virtualIndex = share * (sorted.length - 1)
  const below = sorted[Math.floor(virtualIndex)]!
  const above = sorted[Math.ceil(virtualIndex)]!
  return below + (above - below) * (virtualIndex - Math.floor(virtualIndex))
}

/** Ranks from 1, the lowest score; ties share their average. */
export function averageRanks(scores: Float64Array): Float64Array {
  const rows = ascending(scores)
  const ranks = new Float64Array(scores.length)
  for (let from = 0; from < rows.length;) {
    let to = from + 1
    const score = scores[rows[from]!]
    while (to < rows.length && scores[rows[to]!] === score) to++
    for (let index = from; index < to; index++) ranks[rows[index]!] = (from + 1 + to) / 2
    from = to
  }
  return ranks
}

function ascending(scores: Float64Array): number[] {
  return [...scores.keys()].sort((a, b) => scores[a]! - scores[b]! || a - b)
}
