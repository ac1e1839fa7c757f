/**
 * Stored cycles, read again, replayed through models, compared, evaluated and verified. Read-only, and independent of a
 * running service.
 */
export { overlapDepths, quantileShares } from './replay/comparison.js'
export { compareVersions, lastCycles } from './replay/compare-versions.js'
export {
  BodyChecker,
  kindOfBody,
  type BodyEffect,
  type CycleEffect,
  type PoolEffect,
} from './verify/check-bodies.js'
export { evaluate } from './evaluation/evaluate.js'
export { notablePosts, type NotablePost, type NotablePosts } from './evaluation/notable-posts.js'
export { explainPost } from './explain/explain-post.js'
export { featureMatrices } from './export/export-features.js'
export { exportStore, type ExportOptions } from './export/export-store.js'
export { queryExport, tablesIn, viewSql, type QueryResult } from './export/query.js'
export { QueryError } from './export/reading-statement.js'
export { exportSchemaVersion, exportTables, tableNames, type TableName } from './export/schema.js'
export { departedPosts, endOf } from './recorded/departures.js'
export { listPool, poolDigest, type PendingPostRow, type PoolListing } from './recorded/pool-list.js'
export { replayCycles, type ReplayedCycle } from './replay/replay.js'
export { replayedInputs, type ExcludedInput, type ReplayedInputs } from './replay/replayed-inputs.js'
export {
  checkIdentity,
  historySettingNames,
  loadOptionsOf,
  positionOf,
  sessionSettingNames,
  withHistory,
  withSnapshot,
  type History,
} from './recorded/session.js'
export { expectedError, failures, type HistoryRequest } from './worker/requests.js'
export { startWorker, workerStarter, type StartWorker, type WorkerEnd } from './worker/start.js'
export { HistoryError } from './history-error.js'
export { replayScores, scoreSources } from './replay/version-scores.js'
export { verifyCycles } from './verify/verify-cycles.js'
