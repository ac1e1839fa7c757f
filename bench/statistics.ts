/**
 * Statistics of samples. Quantiles are exact, without a histogram, because a bench has only thousands of samples.
 */

/** Milliseconds. */
export interface LatencySummary {
  readonly count: number
  readonly min: number
  readonly mean: number
  readonly p50: number
  readonly p90: number
  readonly p99: number
  readonly p999: number
  readonly max: number
}

/** Throws if there are no samples: a bench without a sample has failed. */
export function summarize(samplesMs: readonly number[]): LatencySummary {
  if (samplesMs.length === 0) throw new Error('no samples')
  const sorted = [...samplesMs].sort((a, b) => a - b)
  const at = (part: number): number => quantileOfSorted(sorted, part)
  return {
    count: sorted.length,
    min: at(0),
    mean: sum(sorted) / sorted.length,
    p50: at(0.5),
    p90: at(0.9),
    p99: at(0.99),
    p999: at(0.999),
    max: at(1),
  }
}

export function median(samples: readonly number[]): number {
  if (samples.length === 0) throw new Error('no samples')
  return quantileOfSorted(
    [...samples].sort((a, b) => a - b),
    0.5,
  )
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

/** The nearest sample at or above the rank of the quantile, so a value that was measured. */
export function quantileOfSorted(sorted: ArrayLike<number>, part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(part * sorted.length) - 1))]!
}
