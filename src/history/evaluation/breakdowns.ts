/**
 * The model's figures by group: gallery, tier, source, gallery type, hour of the decision, and version. A visit belongs to
 * one group of each kind; its version is that of its decision cycle, and a pick's that of the cycle of the pick.
 */
import { hourMs } from '../../base/index.js'
import {
  galleryTypeCodes,
  kstTimeOfDay,
  sourceCodes,
  tierCodes,
  type Group,
  type GroupKind,
} from '../../contract/index.js'
import type { Units } from './estimates.js'
import { UnitSums } from './intervals.js'
import { fates, type RankerEvaluation } from './ranker-evaluation.js'
import type { EvaluationWindow } from './window.js'

const saved = fates.indexOf('saved')

export function breakdowns(
  window: EvaluationWindow,
  evaluation: RankerEvaluation,
  units: Units,
): Record<GroupKind, Group[]> {
  const of = (
    valueOf: (visit: number) => string | null,
    ofPick: (pick: RankerEvaluation['picks'][number]) => string | null = ({ visit }) => valueOf(visit),
  ): Group[] => groups(window, evaluation, units, valueOf, ofPick)
  const { visits, entries, fates: visitFates, decisions, cycles } = window
  const entryOf = (visit: number): number => visits.entry[visit]!
  const versionOf = (cycleIndex: number): string | null => {
    const cycle = cycles[cycleIndex]
    return cycle === undefined ? null : `${cycle.modelVersion} / ${cycle.weightsVersion}`
  }
  return {
    gallery: of((visit) => entries.gallIds[visits.post[visit]!] ?? null),
    tier: of((visit) => tierCodes[visits.tier[visit]!] ?? null),
    source: of((visit) => sourceCodes[entries.source[entryOf(visit)]!] ?? null),
    gallery_type: of((visit) => galleryTypeCodes[entries.galleryType[entryOf(visit)]!] ?? null),
    hour: of((visit) => {
      const decided = visitFates.decidedMs[visit]!
      if (!Number.isFinite(decided)) return null
      return String(Math.floor(kstTimeOfDay(decided) / hourMs)).padStart(2, '0')
    }),
    version: of(
      (visit) => versionOf(decisions.cycle[visit]!),
      ({ cycleIndex }) => versionOf(cycleIndex),
    ),
  }
}

class GroupSums {
  visits = 0
  saved = 0
  picks = 0
  openPicks = 0
  pickedSaved = 0
  /** Saved visits of the group that were picked, in whatever group the pick counts. */
  recalled = 0
  readonly percentiles = new UnitSums()
}

function groups(
  { visits, fates: { fate } }: EvaluationWindow,
  { picks, isPicked, rankPercentile }: RankerEvaluation,
  units: Units,
  valueOf: (visit: number) => string | null,
  ofPick: (pick: RankerEvaluation['picks'][number]) => string | null,
): Group[] {
  const byValue = new Map<string | null, GroupSums>()
  const groupOf = (value: string | null): GroupSums => {
    const known = byValue.get(value) ?? new GroupSums()
    byValue.set(value, known)
    return known
  }
  for (const pick of picks) {
    const group = groupOf(ofPick(pick))
    group.picks++
    if (fates[fate[pick.visit]!] === 'open') group.openPicks++
    if (fate[pick.visit] === saved) group.pickedSaved++
  }
  for (let visit = 0; visit < visits.count; visit++) {
    const group = groupOf(valueOf(visit))
    group.visits++
    if (fate[visit] !== saved) continue
    group.saved++
    group.recalled += isPicked[visit]!
    const percentile = rankPercentile[visit]!
    if (!Number.isNaN(percentile)) group.percentiles.add(units.ofVisit(visit), percentile)
  }
  const figures = [...byValue].map(([value, group]) => ({
    value,
    visits: group.visits,
    saved: group.saved,
    picks: group.picks,
    picked_saved: group.pickedSaved,
    rank_percentile: units.estimate(group.percentiles),
    precision: ratio(group.pickedSaved, group.picks - group.openPicks),
    recall: ratio(group.recalled, group.saved),
  }))
  // Values in order, unknown last.
  return figures.sort((a, b) =>
    a.value === null ? 1 : b.value === null ? -1 : a.value < b.value ? -1 : a.value > b.value ? 1 : 0,
  )
}

function ratio(part: number, whole: number): number | null {
  return whole > 0 ? part / whole : null
}
