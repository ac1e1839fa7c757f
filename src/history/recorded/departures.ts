/**
 * How visits end: the removals that took effect, of one cycle in order of arrival, or of a visit. `stored-visits.ts` finds
 * those of visits, in order of `cycle_time`.
 */
import { formatInstant, removalReasonCodes, tierCodes, type LeftPost } from '../../contract/index.js'
import { readCycleTable, tookEffect } from '../../records/index.js'
import type { Position, Store, StoredCycle } from '../../store/index.js'

export interface Departure {
  readonly cycle: StoredCycle
  /** Indexes in `removalReasonCodes` and `tierCodes`. */
  readonly reason: number
  readonly tier: number
  readonly decidedMs: number
}

/** A post that a cycle took out of the pool. */
export interface DepartedPost {
  readonly gallId: string
  readonly postNo: number
  /** The candidate with which it entered. */
  readonly entered: { readonly position: Position; readonly row: number }
  readonly departure: Departure
}

/** The posts that left with the cycle at `position`, in the order of its removals; none if its record has expired. */
export function departedPosts(store: Pick<Store, 'tail' | 'readRecord'>, position: Position): DepartedPost[] {
  const [cycle] = store.tail(position)
  const record = store.readRecord(position)
  if (cycle?.position !== position || record === undefined) return []
  const removals = readCycleTable(record, 'removals')
  return Array.from(removals.post_no.keys())
    .filter((row) => tookEffect(removals, row))
    .map((row) => ({
      gallId: removals.gall_id[row] ?? '',
      postNo: removals.post_no[row]!,
      entered: { position: removals.entered_position[row]!, row: removals.entered_row[row]! },
      departure: {
        cycle,
        reason: removals.reason[row]!,
        tier: removals.tier[row]!,
        decidedMs: removals.decided_at[row]!,
      },
    }))
}

/** The JSON form. */
export function endOf({
  reason,
  tier,
  decidedMs,
}: Departure): Pick<LeftPost, 'reason' | 'tier' | 'decided_at'> {
  return {
    reason: removalReasonCodes[reason] ?? 'unknown',
    tier: tierCodes[tier] ?? null,
    decided_at: formatInstant(decidedMs),
  }
}
