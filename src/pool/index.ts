/**
 * The pending pool and the weights: pure state machines over columns, without a clock, a disk or randomness.
 */
export type { CyclePlan } from './plan.js'
export { Pool } from './pool.js'
export { gallIdAt, PostMap, type PostKeys } from './post-map.js'
export type { PoolInputs, ScoringInputs } from './scoring.js'
export { emptyPool, SlotIndex, stateProblem, type PoolState } from './state.js'
export { Tombstones, type Departure } from './tombstones.js'
export { PostWarning, shortPostName } from './warnings.js'
export {
  missingHeads,
  planWeights,
  scoreRows,
  weightsInForce,
  type WeightsAccepted,
  type WeightsConflict,
  type WeightsSetting,
  type WeightsToSet,
} from './weights.js'
