/**
 * Which posts are scored, and why the others are not, in the order of the table in docs/contract.md; and the inputs of a model
 * for those that are: columns of the pending posts and of this cycle's readings.
 */
import {
  assert,
  type EngagementColumns,
  type GalleryIds,
  outcome,
  type PostColumns,
  type ReadingColumns,
  type SnapshotColumns,
  statusOk,
} from '../contract/index.js'
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

/**
 * The rows to score, `count` of them. Row `r` is the post in slot `slots[r]`, with the reading in row
 * `readings[r]` of this call's engagement. Columns marked "by slot" are indexed with the slot.
 */
export interface ScoringInputs {
  /** `cycle_time`: the time at which scores apply. */
  readonly cycleAtMs: number
  readonly count: number
  readonly slots: Uint32Array
  readonly readings: Uint32Array
  /** Gallery ids of the pending posts by code. */
  readonly galleries: GalleryIds
  /** The code of the post's gallery, by slot. */
  readonly gallery: Uint32Array
  /** What stays the same from a post's entry on, by slot. */
  readonly posts: PostColumns
  /** Rows to score have status `ok`; a null counter is NaN. */
  readonly engagement: EngagementColumns
  /** The latest reading before the one that is scored, by slot; `observedAtMs` is NaN if there is none. */
  readonly previous: ReadingColumns
  /** The admin snapshot in use, by slot; `snapshotAtMs` is NaN if there is none. */
  readonly snapshot: SnapshotColumns
  /** Images of the post that are stored, by slot. */
  readonly imagesStored: Uint32Array
  /** Images of the post that the model's encoder has encoded, by slot; 0 for a model without one. */
  readonly imagesEncoded: Uint32Array
  /** 1 if the model's encoder has encoded the post's text, by slot; 0 for a model without one. */
  readonly textEncoded: Uint8Array
}

/** The inputs that the pool provides. */
export type PoolInputs = Omit<ScoringInputs, 'imagesStored' | 'imagesEncoded' | 'textEncoded'>
