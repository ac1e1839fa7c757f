/**
 * Stored cycles, read again, replayed through models, compared, evaluated and verified. Read-only, and independent of a
 * running service.
 */
export { overlapDepths, quantileShares, type AgreementFigures } from './comparison.js'
export { compareVersions, type Comparison, type MoverFigures } from './compare-versions.js'
export {
  BodyChecker,
  kindOfBody,
  type BodyEffect,
  type CycleEffect,
  type PoolEffect,
} from './check-bodies.js'
export { groupKinds, type GroupKind } from './evaluation/breakdowns.js'
export type { Estimate } from './evaluation/estimates.js'
export { evaluate, type Evaluation } from './evaluation/evaluate.js'
export { outcomeCounters } from './evaluation/outcomes.js'
export { ndcgDepths, topDepths } from './evaluation/ranker-evaluation.js'
export type { Difference, RankerFigures } from './evaluation/ranker-figures.js'
export { reportJson } from './evaluation/report-json.js'
export { explainPost } from './explain/explain-post.js'
export type { ExplainedAgainst, ExplainedCycle, Explanation, VisitSummary } from './explain/explain-post.js'
export type { ExplainedInput } from './explain/explain-score.js'
export type { CycleSummary } from './explain/post-history.js'
export type { Scorer } from './explain/scored-inputs.js'
export { exportStore, type ExportOptions } from './export/export-store.js'
export { queryExport, tablesIn, viewSql, type QueryResult } from './export/query.js'
export { QueryError } from './export/reading-statement.js'
export { exportSchemaVersion, exportTables, tableNames, type TableName } from './export/schema.js'
export { listPool, poolDigest, type PendingPostRow, type PoolListing, type PostKey } from './pool-list.js'
export { replayCycles, type ReplayedCycle } from './replay.js'
export { replayedInputs, type ExcludedInput, type ReplayedInputs } from './replayed-inputs.js'
export { replayScores, scoreSources } from './version-scores.js'
export { verifyCycles } from './verify-cycles.js'
