/**
 * Pools vectors into one: the output of an encoder's graph for one text or image, and the vectors of a post's images.
 */

/** Why an item has no vector although the graph ran. */
export const notFinite = 'its vector is not finite'

export interface EncoderOutput {
  readonly values: Float32Array
  /** [items, dim], [items, tokens, dim] or [items, dim, height, width]. */
  readonly dims: readonly number[]
}

export interface PoolOptions {
  /** The first token, or the mean over tokens or cells; a vector needs none. */
  readonly pool: 'mean' | 'cls' | null
  /** Tokens in front of the padding. Default: all. */
  readonly tokenCount?: number
  /** Whether the vector is scaled to length 1 (L2). Default false. */
  readonly normalize?: boolean
}

/** Writes the vector of `item` to `target` [dim]. False if it is not finite; then `target` is zeros. */
export function poolOutput(
  { values, dims }: EncoderOutput,
  item: number,
  { pool, tokenCount, normalize = false }: PoolOptions,
  target: Float32Array,
): boolean {
  const dim = target.length
  const size = dims.slice(1).reduce((product, length) => product * length, 1)
  const one = values.subarray(item * size, (item + 1) * size)
  if (pool === 'mean' && dims.length > 2) {
    const count = tokenCount ?? size / dim
    const isCells = dims.length === 4
    for (let column = 0; column < dim; column++)
      target[column] = isCells ? mean(one, column * count, 1, count) : mean(one, column, dim, count)
  } else {
    target.set(one.subarray(0, dim))
  }
  if (normalize) scaleToLengthOne(target)
  const isFinite = target.every(Number.isFinite)
  if (!isFinite) target.fill(0)
  return isFinite
}

/** Elementwise mean or maximum. The sum runs in the order given, so that the result is deterministic. */
export function poolVectors(vectors: readonly Float32Array[], pooling: 'mean' | 'max'): Float32Array {
  const [first, ...others] = vectors
  if (first === undefined) throw new Error('nothing to pool')
  const pooled = Float64Array.from(first)
  for (const vector of others) {
    for (let i = 0; i < pooled.length; i++) {
      const value = vector[i]!
      pooled[i] = pooling === 'max' ? Math.max(pooled[i]!, value) : pooled[i]! + value
    }
  }
  return Float32Array.from(pooled, (value) => (pooling === 'mean' ? value / vectors.length : value))
}

/** The sum is in float64, so that one of many values loses little precision. */
function mean(values: Float32Array, start: number, step: number, count: number): number {
  let sum = 0
  for (let index = 0, at = start; index < count; index++, at += step) sum += values[at]!
  return sum / count
}

/** L2. A vector of zeros stays one. */
export function scaleToLengthOne(vector: Float32Array): void {
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0))
  if (length === 0) return
  for (let column = 0; column < vector.length; column++) {
    vector[column] = vector[column]! / length
  }
}
