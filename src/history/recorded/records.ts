/**
 * The recorded request and response of a cycle, and where its record contains a post.
 */
import type { CycleHash, CycleResponse, ResultRow } from '../../contract/index.js'
import { readCycleTable } from '../../records/index.js'
import type { Position, Store, StoredCycle } from '../../store/index.js'

/** A post's name. `postNo` is a number, so names are unique whatever `gallId` contains. */
export function postName(gallId: string, postNo: number): string {
  return `${gallId}/${postNo}`
}

/** The record of a cycle. Throws when the store does not have it. */
export function recordAt(store: Store, position: Position): Uint8Array {
  const record = store.readRecord(position)
  if (record === undefined) throw new Error(`the store has no record at position ${position}`)
  return record
}

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

/** Rows, by name, of the candidates of the cycle at `position`; none if its record has expired. */
export function candidateRows(store: Store, position: Position): Map<string, number> {
  const record = store.readRecord(position)
  if (record === undefined) return new Map()
  const { gall_id, post_no } = readCycleTable(record, 'candidates')
  return new Map(gall_id.map((gallId, row) => [postName(gallId ?? '', post_no[row]!), row]))
}

/** The hash of a cycle that has a record. */
export function hashOf(store: Store, cycle: StoredCycle | undefined): CycleHash | null {
  const hashes = cycle && store.hashes(cycle.position)
  return cycle === undefined || hashes === undefined ? null : { cycle_id: cycle.cycleId, hash: hashes.hash }
}
