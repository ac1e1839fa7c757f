/**
 * The version that scored before another one, as the stored cycles show it: it has scored, and a restart does not forget it.
 */
import type { Store } from '../store/index.js'
import { nextTurn } from './next-turn.js'

/** Stored cycles that the event loop reads at a time. */
const scanStep = 200

/** The version of the newest stored cycle that `version` has not scored; null if there is none. */
export async function scoredBefore(store: Store, version: string): Promise<string | null> {
  const first = store.expiry.firstPosition()
  for (let end = (store.lastCycle()?.position ?? 0) + 1; end > first; end -= scanStep) {
    const cycles = [...store.tail(Math.max(first, end - scanStep))].filter(({ position }) => position < end)
    const before = cycles.findLast(({ modelVersion }) => modelVersion !== version)
    if (before !== undefined) return before.modelVersion
    await nextTurn()
    if (store.closed) return null
  }
  return null
}
