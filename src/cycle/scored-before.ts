/**
 * The version that scored before others, as the stored cycles show it: it has scored, and a restart does not forget it.
 */
import { nextTurn } from '../base/index.js'
import type { Position, Store, StoredCycle } from '../store/index.js'

/** Stored cycles that the event loop reads at a time. */
const scanStep = 200

/** What it reads of a store. */
export type ScoredCycles = Pick<Store, 'lastCycle' | 'tail' | 'closed'> & {
  readonly expiry: Pick<Store['expiry'], 'firstPosition'>
}

/** The version of the newest cycle after the position `after` that none of `versions` has scored; null if there is none. */
export async function scoredBefore(
  store: ScoredCycles,
  versions: ReadonlySet<string>,
  after = 0,
): Promise<string | null> {
  const first = Math.max(store.expiry.firstPosition(), after + 1)
  for (let end = (store.lastCycle()?.position ?? 0) + 1; end > first; end -= scanStep) {
    let before: string | null = null
    for (const { modelVersion } of cyclesBetween(store, Math.max(first, end - scanStep), end))
      if (!versions.has(modelVersion)) before = modelVersion
    if (before !== null) return before
    await nextTurn()
    if (store.closed) return null
  }
  return null
}

/** Stops at `end`: those after it have been read. */
function* cyclesBetween(store: ScoredCycles, first: Position, end: Position): Iterable<StoredCycle> {
  for (const cycle of store.tail(first)) {
    if (cycle.position >= end) return
    yield cycle
  }
}
