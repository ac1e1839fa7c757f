/**
 * The first-score ledger of a window: whether each visit had its first score within two cycle boundaries of `extracted_at`,
 * and the visits whose first score came latest, with the reason. docs/evaluation.md defines the rules.
 */
import { minuteMs } from '../../base/index.js'
import {
  firstScore,
  firstScoreDeadline,
  firstScoreTarget,
  formatInstant,
  outcomeCodes,
  type FirstScore,
  type FirstScoreFigures,
  type LateVisit,
} from '../../contract/index.js'
import type { EvaluationWindow } from './window.js'

const worstMax = 20

export function firstScoreFigures({
  cycles,
  visits,
  fates: { decidedMs },
  decisions,
  entries,
}: EvaluationWindow): FirstScoreFigures {
  const windowEndMs = cycles.at(-1)?.cycleAtMs ?? -Infinity
  const counts: Record<FirstScore, number> = { on_time: 0, late: 0, never: 0, excluded: 0 }
  const reasons: Record<string, number> = {}
  const lateVisits: LateVisit[] = []
  for (let visit = 0; visit < visits.count; visit++) {
    // A visit that began before the window may have had its first score there.
    if (visits.beginCycle[visit]! < 0) continue
    const extractedMs = entries.extractedMs[visits.entry[visit]!]!
    const firstMs = cycles[decisions.first[visit]!]?.cycleAtMs ?? NaN
    const decided = decidedMs[visit]!
    const result = firstScore({ extractedMs, firstMs, decidedMs: decided, windowEndMs })
    counts[result]++
    if (result !== 'late' && result !== 'never') continue
    const deadlineMs = firstScoreDeadline(extractedMs)
    const code = outcomeCodes[visits.waitingOutcome[visit]!]
    const reason = code === undefined ? 'no_cycle' : (code.reason ?? code.status)
    reasons[reason] = (reasons[reason] ?? 0) + 1
    const post = visits.post[visit]!
    const endMs = result === 'late' ? firstMs : Math.min(decided, windowEndMs)
    lateVisits.push({
      gall_id: entries.gallIds[post] ?? null,
      post_no: entries.postNos[post] ?? null,
      extracted_at: formatInstant(extractedMs),
      deadline: formatInstant(deadlineMs),
      first_scored_at: result === 'late' ? formatInstant(firstMs) : null,
      minutes_late: (endMs - deadlineMs) / minuteMs,
      result,
      reason,
    })
  }
  const evaluated = counts.on_time + counts.late + counts.never
  return {
    ...counts,
    share: evaluated > 0 ? counts.on_time / evaluated : null,
    target: firstScoreTarget,
    reasons,
    worst: lateVisits.sort(longestFirst).slice(0, worstMax),
  }
}

/** Those that waited equally long are in order of their posts, so that a report repeats itself. */
function longestFirst(a: LateVisit, b: LateVisit): number {
  const [first, second] = [a.gall_id ?? '', b.gall_id ?? '']
  return (
    b.minutes_late - a.minutes_late ||
    (first < second ? -1 : first > second ? 1 : (a.post_no ?? 0) - (b.post_no ?? 0))
  )
}
