/**
 * The contract's target for first scores, and the rule of what counts for it (docs/evaluation.md, First-score ledger). The
 * metric, the page and the report all use this one.
 */
import type { FirstScore } from './history-api.js'
import { cycleBoundaryMs } from './time.js'

/** The share of posts that have their first score by `firstScoreDeadline`. */
export const firstScoreTarget = 0.99

/** Two cycles: the second five-minute boundary at or after `extracted_at`, milliseconds since 1970. */
export function firstScoreDeadline(extractedMs: number): number {
  return (Math.ceil(extractedMs / cycleBoundaryMs) + 1) * cycleBoundaryMs
}

/**
 * The rules are tried in order. `extractedMs`: NaN for null. `firstMs`: the first cycle that scored the visit, NaN for none.
 * `decidedMs`: Infinity while open. `windowEndMs`: the newest cycle that is known.
 */
export function firstScore(visit: {
  readonly extractedMs: number
  readonly firstMs: number
  readonly decidedMs: number
  readonly windowEndMs: number
}): FirstScore {
  const { extractedMs, firstMs, decidedMs, windowEndMs } = visit
  if (Number.isNaN(extractedMs)) return 'excluded'
  const deadline = firstScoreDeadline(extractedMs)
  if (firstMs <= deadline) return 'on_time'
  if (deadline > windowEndMs || decidedMs <= deadline) return 'excluded'
  return Number.isNaN(firstMs) ? 'never' : 'late'
}
