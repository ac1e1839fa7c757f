/**
 * The first-score ledger: whether each visit had its first score within two cycle boundaries of `extracted_at`.
 * docs/evaluation.md defines the rules; they are tried in that order.
 */
import { firstScoreDeadline } from '../../contract/index.js'

export type FirstScore = 'excluded' | 'on_time' | 'late' | 'never'

/** `extractedMs`: NaN for null. `firstMs`: the first cycle that scored the visit, NaN for none. `decidedMs`: Infinity while open. */
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
