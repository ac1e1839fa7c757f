/**
 * One post in the stored cycles: its visits in order of arrival, its result in each cycle of a visit, its last counters and
 * its images.
 */
import {
  formatInstant,
  headNames,
  type Candidate,
  type CycleRequest,
  type EngagementRow,
  type HeadName,
  type ResultRow,
} from '../../contract/index.js'
import { readCandidates, unpackRequest } from '../../cycle/index.js'
import type { Store, StoredCycle } from '../../store/index.js'
import { ArrivalVisits, type ArrivalVisit } from '../arrival-visits.js'
import type { PostKey } from '../pool-list.js'
import { readResponse } from '../records.js'

/** The visits of a post, oldest first. */
export function visitsOf(store: Store, key: PostKey): readonly ArrivalVisit[] {
  const own = new ArrivalVisits(store, key)
  const last = store.lastCycle()?.position ?? 0
  for (let position = store.expiry.firstPosition(); position <= last; position++) own.add(position)
  return own.visits
}

/** The candidate with which a visit began; null where its record has expired. */
export async function candidateOf(store: Store, { entered }: ArrivalVisit): Promise<Candidate | null> {
  if (entered === null || entered.row === null) return null
  const [record] = await readCandidates(store, entered.position, [entered.row])
  return JSON.parse(Buffer.from(record ?? []).toString()) as Candidate
}

/** The result of the post in one cycle. */
export interface PostCycle {
  readonly cycle: StoredCycle
  readonly status: ResultRow['status']
  readonly reason: ResultRow['reason'] | null
  readonly score: number | null
  readonly heads: Readonly<Partial<Record<HeadName, number>>>
  /** 1 for the highest score of the cycle; ties share their average rank. Null where the post is not scored. */
  readonly rank: number | null
  /** Scored posts of the cycle. */
  readonly scored: number
}

/** The cycles of a visit in order of `cycle_time`. */
export function cyclesOf(store: Store, visit: ArrivalVisit, key: PostKey): PostCycle[] {
  const from = Math.max(visit.entered?.position ?? 1, store.expiry.firstPosition())
  const end = visit.left?.position ?? Infinity
  const cycles: PostCycle[] = []
  for (const cycle of store.tail(from)) {
    if (cycle.position >= end) break
    const given = postCycle(store, cycle, key)
    if (given !== null) cycles.push(given)
  }
  return cycles.sort((a, b) => a.cycle.cycleAtMs - b.cycle.cycleAtMs)
}

/** Null where the cycle has no result for the post. */
function postCycle(store: Store, cycle: StoredCycle, { gall_id, post_no }: PostKey): PostCycle | null {
  const { results } = readResponse(store, cycle.cycleId)
  const own = results.find((row) => row.post_no === post_no && row.gall_id === gall_id)
  if (own === undefined || own.reason === 'unknown_post') return null
  let [above, tied, scored] = [0, 0, 0]
  for (const { status, score } of results) {
    if (status !== 'scored') continue
    scored++
    if (own.score === null || score === null) continue
    if (score > own.score) above++
    else if (score === own.score) tied++
  }
  const heads = headNames.flatMap((name) => (own[name] === undefined ? [] : [[name, own[name]]]))
  return {
    cycle,
    status: own.status,
    reason: own.reason ?? null,
    score: own.score,
    heads: Object.fromEntries(heads) as PostCycle['heads'],
    rank: own.status === 'scored' ? above + (tied + 1) / 2 : null,
    scored,
  }
}

/** Cycles whose requests are read for a reading: the client sends one with each cycle. */
const readingCyclesMax = 12

/** The newest reading with counters in the last cycles of a visit. */
export async function lastReading(
  store: Store,
  cycles: readonly PostCycle[],
  { gall_id, post_no }: PostKey,
): Promise<EngagementRow | null> {
  for (const { cycle } of cycles.slice(-readingCyclesMax).reverse()) {
    const request = store.readRequest(cycle.position)
    if (request === undefined) continue
    const { engagement } = JSON.parse(Buffer.from(await unpackRequest(request)).toString()) as CycleRequest
    const found = engagement.find((row) => row.post_no === post_no && row.gall_id === gall_id)
    if (found?.status === 'ok') return found
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

/** The outcome records of a post, as stored. */
export function outcomesOf(store: Store, { gall_id, post_no }: PostKey): Record<string, unknown>[] {
  const found: Record<string, unknown>[] = []
  const part = `"post_no":${post_no},`
  for (const { record, arrivedAtMs } of store.outcomes()) {
    if (!Buffer.from(record.buffer, record.byteOffset, record.length).includes(part)) continue
    const outcome = JSON.parse(Buffer.from(record).toString()) as Record<string, unknown>
    const arrived_at = arrivedAtMs === undefined ? null : formatInstant(arrivedAtMs)
    if (outcome['gall_id'] === gall_id && outcome['post_no'] === post_no)
      found.push({ ...outcome, arrived_at })
  }
  return found
}
