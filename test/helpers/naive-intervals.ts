/**
 * Bootstrap intervals written from docs/evaluation.md: the oracle of the intervals of `understudy report`. Shares no code with
 * src/history.
 */
import { mulberry32 } from '../../src/base/mulberry32.js'

/** One value, and the day or the cycle that it is drawn with. Units are drawn in the order of their names. */
export interface Observation {
  readonly unit: string
  readonly value: number
}

/** The day in Korea, such as `2024-03-01`. */
export function kstDay(ms: number): string {
  return new Date(ms + 9 * 3_600_000).toISOString().slice(0, 10)
}

/** The 95 % interval of the mean; null without observations. */
export function naiveInterval(observations: readonly Observation[]): [number, number] | null {
  if (observations.length === 0) return null
  const units = [...new Set(observations.map(({ unit }) => unit))].sort()
  const values = units.map((name) =>
    observations.filter(({ unit }) => unit === name).map(({ value }) => value),
  )
  const sums = values.map((list) => list.reduce((a, b) => a + b, 0))
  const random = mulberry32(0x5eed)
  const means = Array.from({ length: 2000 }, () => {
    let [sum, count] = [0, 0]
    for (let n = 0; n < units.length; n++) {
      const drawn = Math.floor(random() * units.length)
      sum += sums[drawn] ?? 0
      count += values[drawn]?.length ?? 0
    }
    return sum / count
  }).sort((a, b) => a - b)
  return [percentile(means, 2.5), percentile(means, 97.5)]
}

/** Whether a mean difference is clear: its interval excludes 0, and at least five units have observations. */
export function naiveVerdict(observations: readonly Observation[]): string | null {
  const interval = naiveInterval(observations)
  if (interval === null) return null
  const isEnough = new Set(observations.map(({ unit }) => unit)).size >= 5
  if (isEnough && interval[0] > 0) return 'better'
  return isEnough && interval[1] < 0 ? 'worse' : 'cannot be told apart'
}

/** NumPy's default: linear interpolation. */
function percentile(sorted: readonly number[], percent: number): number {
  const place = ((sorted.length - 1) * percent) / 100
  const [low, high] = [sorted[Math.floor(place)] ?? NaN, sorted[Math.ceil(place)] ?? NaN]
  return low + (high - low) * (place % 1)
}
