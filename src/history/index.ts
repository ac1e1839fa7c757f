/**
 * The recorded past: cycles read again from the store, replayed through models, compared and verified. Nothing here
 * writes, and nothing here knows the service that runs.
 */
export { overlapDepths, quantileShares, type AgreementFigures } from './comparison.js'
export { ComparisonFigures, type Comparison, type MoverFigures } from './comparison-figures.js'
export { replayCycles, type ReplayedCycle, type ReplayRange } from './replay.js'
export { replayedInputs, type ExcludedInput, type ReplayedInputs } from './replayed-inputs.js'
export { scorePairs, scoreSources } from './score-pairs.js'
export { verifyCycles, type VerifyCyclesOptions } from './verify-cycles.js'
