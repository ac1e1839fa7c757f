/**
 * One post in the stored cycles: its result in each cycle of a visit, its last counters, its images and its outcomes.
 */
import {
  averageRank,
  formatInstant,
  headNames,
  type CycleRequest,
  type CycleSummary,
  type EngagementRow,
  type PostKey,
} from '../../contract/index.js'
import { readBody } from '../../cycle/index.js'
import type { Store, StoredCycle } from '../../store/index.js'
import { isPendingAt, type StoredVisit } from '../recorded/stored-visits.js'
import { HistoryError } from '../history-error.js'
import { readResponse } from '../recorded/records.js'

/** The cycles of a visit in order of `cycle_time`. */
export function cyclesOf(store: Store, visit: StoredVisit, key: PostKey): CycleSummary[] {
  return [...store.tail(1)]
    .filter((cycle) => isPendingAt(visit, cycle))
    .sort((a, b) => a.cycleAtMs - b.cycleAtMs)
    .flatMap((cycle) => cycleSummary(store, cycle, key) ?? [])
}

/** A cycle that scored the post. Throws a `HistoryError` for another one. */
export function scoredCycle(store: Store, cycleId: string, key: PostKey): CycleSummary {
  const cycle = store.findCycle(cycleId)
  const summary = cycle === undefined ? null : cycleSummary(store, cycle, key)
  if (summary?.status === 'scored') return summary
  const post = `${key.gall_id}/${key.post_no}`
  const why = summary === null ? null : (summary.reason ?? summary.status)
  throw new HistoryError({ code: 'no_score', cycle_id: cycleId, post, why })
}

/** Null if the cycle has no result for the post. */
function cycleSummary(store: Store, cycle: StoredCycle, { gall_id, post_no }: PostKey): CycleSummary | null {
  const { results } = readResponse(store, cycle.cycleId)
  const result = results.find((row) => row.post_no === post_no && row.gall_id === gall_id)
  if (result === undefined || result.reason === 'unknown_post') return null
  let [above, tied, scored] = [0, 0, 0]
  for (const { status, score } of results) {
    if (status !== 'scored') continue
    scored++
    if (result.score === null || score === null) continue
    if (score > result.score) above++
    else if (score === result.score) tied++
  }
  const heads = headNames.flatMap((name) => (result[name] === undefined ? [] : [[name, result[name]]]))
  return {
    cycle_id: cycle.cycleId,
    status: result.status,
    reason: result.reason ?? null,
    score: result.score,
    rank: result.status === 'scored' ? averageRank({ above, tied }) : null,
    scored,
    heads: Object.fromEntries(heads) as CycleSummary['heads'],
    weights_version: cycle.weightsVersion,
    model_version: cycle.modelVersion,
  }
}

/** Cycles whose requests are read for a reading: the client sends one with each cycle. */
const readingCyclesMax = 12

/** The newest reading with counters in the last cycles of a visit. */
export async function lastReading(
  store: Store,
  cycles: readonly CycleSummary[],
  { gall_id, post_no }: PostKey,
): Promise<EngagementRow | null> {
  for (const { cycle_id } of cycles.slice(-readingCyclesMax).reverse()) {
    const { position } = store.findCycle(cycle_id)!
    const { engagement } = JSON.parse(Buffer.from(await readBody(store, position)).toString()) as CycleRequest
    const reading = engagement.find((row) => row.post_no === post_no && row.gall_id === gall_id)
    if (reading?.status === 'ok') return reading
  }
  return null
}

/** The stored images of a post, with the SHA-256 of their uploads as hex digits. */
export function imagesOf(
  store: Store,
  { gall_id: gallId, post_no: postNo }: PostKey,
): { readonly position: number; readonly sha256: string }[] {
  return store.imagePositions(gallId, postNo).flatMap((position) => {
    const hash = store.readImageHash({ gallId, postNo, position })
    return hash === undefined ? [] : { position, sha256: Buffer.from(hash).toString('hex') }
  })
}

export function outcomesOf(store: Store, { gall_id, post_no }: PostKey): Record<string, unknown>[] {
  const outcomes: Record<string, unknown>[] = []
  const part = `"post_no":${post_no},`
  for (const { record, arrivedAtMs } of store.outcomes()) {
    if (!Buffer.from(record.buffer, record.byteOffset, record.length).includes(part)) continue
    const outcome = JSON.parse(Buffer.from(record).toString()) as Record<string, unknown>
    if (outcome['gall_id'] === gall_id && outcome['post_no'] === post_no)
      outcomes.push({ ...outcome, arrived_at: formatInstant(arrivedAtMs) })
  }
  return outcomes
}
