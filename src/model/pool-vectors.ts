/**
 * Pools the vectors of a post's images into one.
 */

/** Elementwise mean or maximum. The sum runs in the order given, so that the result is deterministic. */
export function poolVectors(vectors: readonly Float32Array[], pooling: 'mean' | 'max'): Float32Array {
  const [first, ...others] = vectors
  if (first === undefined) throw new Error('nothing to pool')
  const pooled = Float64Array.from(first)
  for (const vector of others) {
    for (let i = 0; i < pooled.length; i++) {
      const value = vector[i] as number
      pooled[i] = pooling === 'max' ? Math.max(pooled[i] as number, value) : (pooled[i] as number) + value
    }
  }
  return Float32Array.from(pooled, (value) => (pooling === 'mean' ? value / vectors.length : value))
}
