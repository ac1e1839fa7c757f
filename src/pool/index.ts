/**
 * The pending pool and the weights: pure state machines over columns. Nothing here knows a clock, a disk or chance.
 */
export type { ScoringInputs } from './scoring-inputs.js'
