/**
 * Plans batches of rows of different lengths: the shorter rows first, rows of similar length together, so that there is
 * little padding.
 */

/**
 * Every row once, as lists of indices into `lengths`. A batch is at most `tokensMax` tokens, padding included, or one row.
 * Shorter rows come first: when time runs out, more rows are encoded.
 */
export function planBatches(lengths: readonly number[], tokensMax: number): number[][] {
  const lengthOf = (row: number): number => lengths[row] ?? 0
  const order = [...lengths.keys()].sort((a, b) => lengthOf(a) - lengthOf(b) || a - b)
  const batches: number[][] = []
  for (const row of order) {
    const last = batches.at(-1)
    // In ascending order the new row is the longest.
    if (last === undefined || (last.length + 1) * lengthOf(row) > tokensMax) batches.push([row])
    else last.push(row)
  }
  return batches
}
