/**
 * One cycle from bytes to bytes, and the weights that it is scored with: the only place that knows codec, pool, model
 * and store.
 */
export { CarefulReplay, type LeftOut } from './careful-replay.js'
export {
  compareScores,
  largestMovers,
  overlapDepths,
  quantileShares,
  type Agreement,
  type Distribution,
  type Mover,
} from './comparison.js'
export { readCandidates } from './embeddings/index.js'
export { FewAtATime } from './few-at-a-time.js'
export { findEntries, type PendingPost } from './entered-posts.js'
export { replayCycles, type ReplayedCycle, type ReplayRange } from './replay.js'
export { replayedInputs, type ReplayedInputs } from './replayed-inputs.js'
export { postName } from './saved-names.js'
export type { RequestBody } from './request-body.js'
export { scoredTwice, scoreSources, sourceOf, type ScoreSource, type TwiceScored } from './scored-twice.js'
export { CycleService, type CycleServiceParts } from './service.js'
export { StageClock, stageNames, type StageName } from './stage-clock.js'
export { verifyCycles, type VerifyCyclesOptions } from './verify-cycles.js'
export { warmUp } from './warm-up.js'
export type { InitialWeights } from './weights-desk.js'
