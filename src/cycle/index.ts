/**
 * One cycle from bytes to bytes, and the weights that it is scored with: the only place that knows codec, pool, model
 * and store.
 */
export { replayCycles, type ReplayedCycle, type ReplayRange } from './replay.js'
export { replayedInputs, type ReplayedInputs } from './replayed-inputs.js'
export type { RequestBody } from './request-body.js'
export { CycleService, type CycleServiceParts } from './service.js'
export { StageClock, stageNames, type StageName } from './stage-clock.js'
export { warmUp } from './warm-up.js'
export type { InitialWeights } from './weights-desk.js'
