/**
 * The inputs of a model when it scores a cycle: columns of the pending posts and of this cycle's readings.
 */
import type {
  EngagementColumns,
  GalleryIds,
  PostColumns,
  ReadingColumns,
  SnapshotColumns,
} from '../contract/index.js'

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
