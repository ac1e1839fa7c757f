/**
 * Pools a graph's output to one vector a row: the mean of its tokens or the first one, normalised to length 1 if asked.
 */

/** The output of one run. */
export interface TokenOutput {
  /** [rows, tokens, dim], or [rows, dim] where the graph pools by itself. */
  readonly values: Float32Array
  /** Tokens a row, padding included; null: the graph pools. */
  readonly length: number | null
  readonly dim: number
}

export interface PoolingOptions {
  /** null: the graph pools. */
  readonly pooling: 'mean' | 'cls' | null
  readonly normalize: boolean
}

/**
 * Writes the vector of `row`, which has `tokenCount` tokens in front of its padding, to `target` [dim]. False where it
 * is not finite; then `target` is zeros.
 */
export function poolRow(
  output: TokenOutput,
  row: number,
  tokenCount: number,
  { pooling, normalize }: PoolingOptions,
  target: Float32Array,
): boolean {
  const { values, length, dim } = output
  const start = row * (length ?? 1) * dim
  const isMean = length !== null && pooling === 'mean'
  if (isMean) writeMean(values, start, tokenCount, target)
  else target.set(values.subarray(start, start + dim))
  if (normalize) scaleToLengthOne(target)
  const isFinite = target.every(Number.isFinite)
  if (!isFinite) target.fill(0)
  return isFinite
}

function writeMean(values: Float32Array, start: number, tokenCount: number, target: Float32Array): void {
  const dim = target.length
  // In float64: a sum of many tokens loses little precision.
  const sums = new Float64Array(dim)
  for (let token = 0, at = start; token < tokenCount; token++, at += dim) {
    for (let column = 0; column < dim; column++) {
      sums[column] = (sums[column] as number) + (values[at + column] as number)
    }
  }
  for (let column = 0; column < dim; column++) target[column] = (sums[column] as number) / tokenCount
}

/** A vector of zeros stays one. */
function scaleToLengthOne(vector: Float32Array): void {
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0))
  if (length === 0) return
  for (let column = 0; column < vector.length; column++) {
    vector[column] = (vector[column] as number) / length
  }
}
