/** Past cycles as columns, from evaluation records or bodies. */
export { Past } from './past.js'
export type {
  PastCandidates,
  PastCycle,
  PastEntries,
  PastPosts,
  PastRemovals,
  PastRows,
  PastScores,
} from './past-cycle.js'
