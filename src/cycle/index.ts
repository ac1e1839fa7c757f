/**
 * One cycle from bytes to bytes, and the weights that it is scored with: the only folder that knows codec, pool, model
 * and store.
 */
export { packAvailability, readAvailability, type Availability } from './availability.js'
export {
  imageBatchEncoder,
  Quarantine,
  readCandidates,
  textBatchEncoder,
  textKey,
} from './embeddings/index.js'
export { findCycleId, Semaphore } from './intake/index.js'
export { placedFailure } from './model-failure.js'
export { unpackRequest, type RequestBody } from './request-body.js'
export { loadPool, postName, saveCycle, savedNames } from './saved-state.js'
export { CycleService, type CycleServiceParts } from './service.js'
export { unpackHeads } from './shadows.js'
export { StageClock, stageNames, type StageName } from './stage-clock.js'
export type { InitialWeights } from './stored-weights.js'
