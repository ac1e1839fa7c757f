/**
 * Which posts are scored, and why the others are not, in the order of the table in docs/contract.md.
 */
import { assert, outcome, statusOk, type EngagementColumns } from '../contract/index.js'
import type { PoolState } from './state.js'

export interface SlotOutcomes {
  /** Index into `outcomeCodes`, by slot. */
  readonly outcomes: Uint8Array
  /** Slots that are scored, and the engagement row of each. */
  readonly slots: Uint32Array
  readonly readings: Uint32Array
}

/** `rowOfSlot`: by slot, the engagement row that counts, or -1. */
export function slotOutcomes(
  { count, posts }: PoolState,
  { status }: EngagementColumns,
  rowOfSlot: Int32Array,
): SlotOutcomes {
  assert(rowOfSlot.length === count, 'each slot has a row that counts, or none')
  const { createdAtMs, extractedAtMs } = posts
  const { chars, spaces } = posts.title
  const outcomes = new Uint8Array(count)
  const slots = new Uint32Array(count)
  const rows = new Uint32Array(count)
  let scored = 0
  for (let slot = 0; slot < count; slot++) {
    const row = rowOfSlot[slot]!
    if (row < 0) outcomes[slot] = outcome.waiting
    else if (chars[slot] === spaces[slot]) outcomes[slot] = outcome.missingTitle
    else if (isNaN(createdAtMs[slot]!) || isNaN(extractedAtMs[slot]!)) outcomes[slot] = outcome.missingClock
    else if (status[row] !== statusOk) outcomes[slot] = outcome.postUnavailable
    else {
      outcomes[slot] = outcome.scored
      slots[scored] = slot
      rows[scored++] = row
    }
  }
  return { outcomes, slots: slots.subarray(0, scored), readings: rows.subarray(0, scored) }
}
