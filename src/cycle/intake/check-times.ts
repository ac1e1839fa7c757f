/**
 * Checks the times of a well-formed cycle: not in the future, on the five-minute grid, no row later than the cycle
 * (docs/contract.md). Compares instants, not strings.
 */
import {
  compareInstants,
  cycleBoundaryMs,
  cycleIdOf,
  futureProblem,
  Problems,
  type CycleColumns,
  type Instant,
  type ServiceError,
} from '../../contract/index.js'

export interface Now {
  readonly nowMs: number
  /** How far ahead of the service's clock a `cycle_time` may be. */
  readonly skewMs: number
}

/** The refusal, with its problems in document order; null if the times are right. */
export function checkTimes(cycle: CycleColumns, now: Now): ServiceError | null {
  const problems = new Problems()
  for (const member of cycle.memberOrder) {
    if (member === 'cycle_id') checkId(problems, cycle)
    else if (member === 'cycle_time') checkTime(problems, cycle.cycleAt, now)
    else if (member === 'engagement') {
      const { observedAtMs, observedAtFraction } = cycle.engagement
      checkRows(problems, cycle, 'engagement', 'observed_at', observedAtMs, observedAtFraction)
    } else if (member === 'candidate_scores') {
      const { snapshotAtMs, snapshotAtFraction } = cycle.candidateScores
      checkRows(problems, cycle, 'candidate_scores', 'snapshot_at', snapshotAtMs, snapshotAtFraction)
    }
  }
  if (problems.count === 0) return null
  const aheadMs = cycle.cycleAt.ms - now.nowMs - now.skewMs
  // Time mends this problem and no other.
  const isEarlyOnly = problems.count === 1 && aheadMs > 0
  return problems.toError('wrong_times', isEarlyOnly ? { retryAfterS: Math.ceil(aheadMs / 1000) } : {})
}

function checkId(problems: Problems, { cycleId, cycleAt }: CycleColumns): void {
  const expected = cycleIdOf(cycleAt.ms)
  if (cycleId !== expected) problems.add('cycle_id', `must be cycle_time in KST, ${expected}`)
}

function checkTime(problems: Problems, at: Instant, { nowMs, skewMs }: Now): void {
  if (at.ms > nowMs + skewMs) problems.add('cycle_time', futureProblem)
  // Also of the future: a client sends a cycle again whose only problem is that one.
  if (at.ms % cycleBoundaryMs !== 0 || at.fraction !== 0)
    problems.add('cycle_time', 'must be on a five-minute boundary')
}

function checkRows(
  problems: Problems,
  { cycleAt }: CycleColumns,
  list: string,
  member: string,
  ms: Float64Array,
  fraction: Float64Array,
): void {
  for (let row = 0; row < ms.length; row++) {
    if (ms[row]! < cycleAt.ms) continue
    const at: Instant = { ms: ms[row]!, fraction: fraction[row]! }
    if (compareInstants(at, cycleAt) > 0)
      problems.add(`${list}[${row}].${member}`, 'must not be later than cycle_time')
  }
}
