/**
 * One cycle from bytes to bytes, and the weights that it is scored with: the only folder that combines codec, pool, model
 * and store.
 */
export { availabilityIn, type Availability } from './availability.js'
export { plannedTables } from './cycle-record.js'
export {
  encodingChannel,
  imageBatchEncoder,
  Quarantine,
  readCandidates,
  textBatchEncoder,
  textKey,
  type EncodingMessage,
} from './embeddings/index.js'
export { requestHash, RequestBody, unpackRequest } from './intake/index.js'
export { placedFailure } from './model-failures.js'
export type { CycleStored } from './pipeline.js'
export { PlanOnly } from './plan-only.js'
export { scoredBefore } from './scored-before.js'
export { CycleService, type CycleServiceParts, type ServiceProblem } from './service.js'
export { StageClock } from './stage-clock.js'
export { loadPool, planStored, readBody, readPool, type PlannedAgain } from './stored-pool/index.js'
export { changeWeights, type InitialWeights } from './stored-weights.js'
export { warmUp } from './warm-up.js'
