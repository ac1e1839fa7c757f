/**
 * The pending pool and the weights: pure state machines over columns. Nothing here knows a clock, a disk or chance.
 */
export { listPostColumns, postColumnsOf, readingNames, snapshotColumnNames, type Column } from './columns.js'
export { hashFactors, SlotIndex } from './key-index.js'
export type { CyclePlan } from './plan.js'
export { Pool } from './pool.js'
export type { ScoringInputs } from './scoring-inputs.js'
export { emptyPool, type PoolState } from './state.js'
export { Tombstones, tombstoneAgeMsMax, type KeyList } from './tombstones.js'
export { PostWarning, shortPostName } from './warnings.js'
export {
  lackingHeads,
  planWeights,
  scoreRows,
  weightsInForce,
  type WeightsAccepted,
  type WeightsConflict,
  type WeightsHistory,
  type WeightsSetting,
  type WeightsToSet,
} from './weights.js'
