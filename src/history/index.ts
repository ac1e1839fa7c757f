/**
 * The recorded past: cycles read again from the store, replayed through models, compared and verified. Nothing here
 * writes, and nothing here knows the service that runs.
 */
export {
  compareScores,
  largestMovers,
  overlapDepths,
  quantileShares,
  type Agreement,
  type Distribution,
  type Mover,
} from './comparison.js'
export { CarefulReplay, type LeftOut } from './careful-replay.js'
export { findEntries, type PendingPost } from './records.js'
export { replayCycles, type ReplayedCycle, type ReplayRange } from './replay.js'
export { replayedInputs, type ReplayedInputs } from './replayed-inputs.js'
export { scorePairs, scoreSources, sourceOf, type ScorePair, type ScoreSource } from './score-pairs.js'
export { verifyCycles, type VerifyCyclesOptions } from './verify-cycles.js'
