/**
 * Plans batches of rows of different lengths: the shorter rows first, rows of similar length together, so that there is
 * little padding.
 */

/**
 * Every row once. A batch is at most `tokensMax` tokens, padding included, or one row; and at most `rowsMax` rows. Shorter rows come first: when time
 * runs out, more rows are encoded.
 */
export function planBatches<Row>(
  rows: readonly Row[],
  lengthOf: (row: Row) => number,
  tokensMax: number,
  rowsMax = Infinity,
): Row[][] {
  const batches: Row[][] = []
  for (const row of rows.toSorted((a, b) => lengthOf(a) - lengthOf(b))) {
    const last = batches.at(-1)
    // The new row is the longest: the order is ascending.
    const isFull =
      last === undefined || last.length >= rowsMax || (last.length + 1) * lengthOf(row) > tokensMax
    if (isFull) batches.push([row])
    else last.push(row)
  }
  return batches
}
