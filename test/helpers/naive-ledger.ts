/**
 * The first-score ledger written from docs/evaluation.md: the oracle of `first_score` of `understudy report`. Shares no code with
 * src/history.
 */
import type { Candidate } from '../../src/contract/index.js'

export interface LedgerVisit {
  readonly gallId: string
  readonly candidate: Candidate | undefined
  /** Index of the cycle that brought it; negative: before the window. */
  readonly began: number
  readonly d: number
  /** Indexes of the cycles that scored it. */
  readonly scoredIn: readonly number[]
  /** Reason, or status without one, of each of its results. */
  readonly results: readonly (readonly [cycle: number, result: string])[]
}

const minute = 60_000
export const instantOf = (ms: number | undefined): string | null =>
  ms === undefined ? null : new Date(ms).toISOString()

/** `times`: of the cycles of the window. */
export function naiveLedger(visits: readonly LedgerVisit[], times: readonly number[]): object {
  const counts = { on_time: 0, late: 0, never: 0, excluded: 0 }
  const reasons: Record<string, number> = {}
  const worst: {
    readonly gall_id: string
    readonly post_no: number
    readonly extracted_at: string | null
    readonly deadline: string | null
    readonly first_scored_at: string | null
    readonly result: string
    readonly reason: string
    readonly minutes_late: number
  }[] = []
  const end = times.at(-1) ?? 0
  for (const { gallId, began, candidate, scoredIn, results, d } of visits) {
    if (began < 0) continue
    const extracted = candidate?.extracted_at ?? null
    if (candidate === undefined || extracted === null) {
      counts.excluded++
      continue
    }
    let boundary = Math.floor(Date.parse(extracted) / (5 * minute)) * 5 * minute
    if (boundary < Date.parse(extracted)) boundary += 5 * minute
    const deadline = boundary + 5 * minute
    const first = times[scoredIn[0] ?? -1]
    if (first !== undefined && first <= deadline) counts.on_time++
    else if (deadline > end || d <= deadline) counts.excluded++
    else {
      const result = first === undefined ? 'never' : 'late'
      counts[result]++
      const reason = results.findLast(([c]) => (times[c] ?? Infinity) <= deadline)?.[1] ?? 'no_cycle'
      reasons[reason] = (reasons[reason] ?? 0) + 1
      worst.push({
        gall_id: gallId,
        post_no: candidate.post_no,
        extracted_at: instantOf(Date.parse(extracted)),
        deadline: instantOf(deadline),
        first_scored_at: instantOf(first),
        result,
        reason,
        minutes_late: ((first ?? Math.min(d, end)) - deadline) / minute,
      })
    }
  }
  const evaluated = counts.on_time + counts.late + counts.never
  const share = evaluated === 0 ? null : counts.on_time / evaluated
  worst.sort(
    (a, b) =>
      b.minutes_late - a.minutes_late || a.gall_id.localeCompare(b.gall_id, 'en') || a.post_no - b.post_no,
  )
  return { ...counts, share, target: 0.99, reasons, worst: worst.slice(0, 20) }
}
