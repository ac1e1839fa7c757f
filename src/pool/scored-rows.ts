/**
 * Who is scored and why not, in the precedence of decisions.md 18.
 */
import { outcome, statusOk, type EngagementColumns } from '../contract/index.js'
import type { ColumnMemory } from './column-memory.js'
import type { PoolState } from './state.js'

export interface ScoredRows {
  /** By slot: index into `outcomeCodes`. */
  readonly outcomes: Uint8Array
  /** Slots that are scored, and the engagement row of each. */
  readonly slots: Uint32Array
  readonly readings: Uint32Array
}

/** `rowOfSlot`: by slot, the engagement row that counts, or -1. */
export function judgeSlots(
  pool: PoolState,
  { status }: EngagementColumns,
  rowOfSlot: Int32Array,
  memory: ColumnMemory,
): ScoredRows {
  const { count, posts } = pool
  const { createdAtMs, extractedAtMs } = posts
  const { chars, spaces } = posts.title
  const outcomes = memory.uint8(count)
  const slots = memory.uint32(count)
  const rows = memory.uint32(count)
  let scored = 0
  for (let slot = 0; slot < count; slot++) {
    const row = rowOfSlot[slot] as number
    if (row < 0) outcomes[slot] = outcome.waiting
    else if (chars[slot] === spaces[slot]) outcomes[slot] = outcome.missingTitle
    else if (isNaN(createdAtMs[slot] as number) || isNaN(extractedAtMs[slot] as number))
      outcomes[slot] = outcome.missingClock
    else if (status[row] !== statusOk) outcomes[slot] = outcome.postUnavailable
    else {
      outcomes[slot] = outcome.scored
      slots[scored] = slot
      rows[scored++] = row
    }
  }
  return { outcomes, slots: slots.subarray(0, scored), readings: rows.subarray(0, scored) }
}
