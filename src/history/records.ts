/**
 * The recorded request and response of a cycle, and where the entry records contain a post.
 */
import { outcomeCodes, type CycleResponse, type ResultRow } from '../contract/index.js'
import { savedNames } from '../cycle/index.js'
import type { Position, Store } from '../store/index.js'

/** The response of a cycle. Throws when the store does not have it. */
export function readResponse(store: Store, cycleId: string): CycleResponse {
  const bytes = store.readResponse(cycleId)
  if (bytes === undefined) throw new Error(`the store has no response of cycle ${cycleId}`)
  return JSON.parse(Buffer.from(bytes).toString()) as CycleResponse
}

/** The results of pending posts, in order of entry. */
export function pendingResults({ results }: CycleResponse): ResultRow[] {
  return results.filter(({ reason }) => reason !== 'unknown_post')
}

/** Index of a result in `outcomeCodes`. */
export function outcomeCodeOf({ status, reason }: ResultRow): number {
  return outcomeCodes.findIndex((code) => code.status === status && code.reason === (reason ?? null))
}

/** Rows, by name, of the posts that entered with the cycle at `position`. */
export function enteredRows(store: Store, position: Position): Map<string, number> {
  return new Map(savedNames(store.readEntered(position)).map((name, row) => [name, row]))
}
