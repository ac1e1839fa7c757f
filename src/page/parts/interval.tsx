/** A value with its 95 % interval, drawn on a scale that the rows of a table share, and as text. */
import type { Interval } from '../service/history.js'
import { percent } from '../format.js'

export interface Scale {
  readonly low: number
  readonly high: number
  /** A vertical line, such as "no difference". */
  readonly reference?: number
}

interface IntervalCellProps {
  readonly mean: number | null
  readonly ci95: Interval | null
  readonly scale: Scale
}

const width = 160
const height = 16

export function IntervalCell({ mean, ci95, scale }: IntervalCellProps) {
  const x = (value: number): number => {
    const share = (value - scale.low) / (scale.high - scale.low)
    return 4 + Math.max(0, Math.min(1, share)) * (width - 8)
  }
  return (
    <td class="interval">
      <svg viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
        <path class="rail" d={`M4 8H${width - 4}`} />
        {scale.reference !== undefined && <path class="reference" d={`M${x(scale.reference)} 1V15`} />}
        {ci95 !== null && <path class="whisker" d={`M${x(ci95[0])} 8H${x(ci95[1])}`} />}
        {mean !== null && <circle cx={x(mean)} cy="8" r="3.5" />}
      </svg>
      <span>
        {percent(mean)}
        {ci95 !== null && (
          <small class="muted">
            {' '}
            {(100 * ci95[0]).toFixed(1)} to {(100 * ci95[1]).toFixed(1)}
          </small>
        )}
      </span>
    </td>
  )
}

/** From the smallest to the largest end of all intervals, with a margin. */
export function scaleOf(
  rows: readonly Pick<IntervalCellProps, 'mean' | 'ci95'>[],
  reference?: number,
): Scale {
  const ends = rows.flatMap(({ mean, ci95 }) => [...(mean === null ? [] : [mean]), ...(ci95 ?? [])])
  if (reference !== undefined) ends.push(reference)
  if (ends.length === 0) return { low: 0, high: 1 }
  const [low, high] = [Math.min(...ends), Math.max(...ends)]
  const margin = 0.05 * (high - low) || 0.05
  return { low: low - margin, high: high + margin, ...(reference === undefined ? {} : { reference }) }
}
