/**
 * Plans batches of rows of different lengths: the shorter rows first, rows of similar length together, so that there is
 * little padding.
 */

export interface Batch {
  /** Indices into the lengths, ascending by length. */
  readonly rows: readonly number[]
  /** Of the longest row; the others are padded to it. */
  readonly length: number
}

/**
 * Every row once. A batch is at most `tokensMax` tokens, padding included, or one row.
 * Shorter rows come first: when time runs out, more rows are encoded.
 */
export function planBatches(lengths: readonly number[], tokensMax: number): Batch[] {
  const order = lengths
    .map((_, row) => row)
    .sort((a, b) => lengthOf(lengths, a) - lengthOf(lengths, b) || a - b)
  const batches: Batch[] = []
  let rows: number[] = []
  for (const row of order) {
    // In ascending order the new row is the longest.
    if (rows.length > 0 && (rows.length + 1) * lengthOf(lengths, row) > tokensMax) {
      batches.push(batchOf(lengths, rows))
      rows = []
    }
    rows.push(row)
  }
  if (rows.length > 0) batches.push(batchOf(lengths, rows))
  return batches
}

function batchOf(lengths: readonly number[], rows: readonly number[]): Batch {
  return { rows, length: lengthOf(lengths, rows.at(-1) ?? 0) }
}

function lengthOf(lengths: readonly number[], row: number): number {
  return lengths[row] ?? 0
}
