/**
 * The rank of a score, wherever one is shown or exported: 1 is the highest score, and equal scores share their average rank
 * (docs/explain.md). Two posts that tie for the first place both rank 1.5.
 */

export interface RankCounts {
  /** Scores that are higher. */
  readonly above: number
  /** Scores that are equal, with the score itself. */
  readonly tied: number
}

export function averageRank({ above, tied }: RankCounts): number {
  return above + (tied + 1) / 2
}

/** `ascending`: sorted scores that contain `score`. */
export function countsInSorted(ascending: Float32Array, score: number): RankCounts {
  const notAbove = firstIndex(ascending, (other) => other > score)
  const below = firstIndex(ascending, (other) => other >= score)
  return { above: ascending.length - notAbove, tied: notAbove - below }
}

/** The first index whose value fulfils a condition that all values after it fulfil, too. */
function firstIndex(ascending: Float32Array, fulfils: (value: number) => boolean): number {
  let [low, high] = [0, ascending.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (fulfils(ascending[middle]!)) high = middle
    else low = middle + 1
  }
  return low
}
