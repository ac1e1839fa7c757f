/**
 * Stored cycles, read again, replayed through models, compared, evaluated and verified. Read-only, and independent of a
 * running service.
 */
export { overlapDepths, quantileShares, type AgreementFigures } from './comparison.js'
export { ComparisonFigures, type Comparison, type MoverFigures } from './comparison-figures.js'
export {
  BodyChecker,
  kindOfBody,
  type BodyEffect,
  type CycleEffect,
  type PoolEffect,
} from './check-bodies.js'
export {
  evaluate,
  groupKinds,
  ndcgDepths,
  outcomeAges,
  outcomeCounters,
  reportJson,
  topDepths,
  versionQuality,
  type Difference,
  type Estimate,
  type Evaluation,
  type EvaluationOptions,
  type GroupKind,
  type Quality,
  type RankerFigures,
} from './evaluation/index.js'
export { explainPost } from './explain/explain-post.js'
export type {
  CycleSummary,
  ExplainedAgainst,
  ExplainedCycle,
  Explanation,
  VisitSummary,
} from './explain/explain-post.js'
export type { ExplainedInput } from './explain/explain-score.js'
export type { Scorer } from './explain/scored-inputs.js'
export { exportStore } from './export/export-store.js'
export { queryExport, QueryError, tablesIn, viewSql, type QueryResult } from './export/query.js'
export { exportSchemaVersion, exportTables, tableNames, type TableName } from './export/schema.js'
export { Staging } from './export/staging.js'
export { listPool, poolDigest, type PendingPostRow, type PoolListing, type PostKey } from './pool-list.js'
export { replayCycles, type ReplayedCycle, type ReplayRange } from './replay.js'
export { replayedInputs, type ExcludedInput, type ReplayedInputs } from './replayed-inputs.js'
export { replayScores, scorePairs, scoreSources } from './score-pairs.js'
export { verifyCycles, type VerifyCyclesOptions } from './verify-cycles.js'
