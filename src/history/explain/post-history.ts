/**
 * One post in the stored cycles: its visits, and what each cycle of a visit gave it. Visits are in order of arrival, as the
 * service saw them; the report takes cycles in order of `cycle_time`, which differs only where cycles arrived late.
 */
import {
  formatInstant,
  headNames,
  removalReasonCodes,
  tierCodes,
  type Candidate,
  type HeadName,
  type ResultRow,
} from '../../contract/index.js'
import { postName, readCandidates, savedDepartures } from '../../cycle/index.js'
import type { Position, Store, StoredCycle } from '../../store/index.js'
import { enteredRows, readResponse } from '../records.js'
import type { PostKey } from '../pool-list.js'

/** A stay of the post in the pool. */
export interface PostVisit {
  /** Null where the cycle that brought the post has expired, and for a post that entered and left with one call. */
  readonly entered: { readonly position: Position; readonly row: number } | null
  readonly left: Departure | null
}

interface Departure {
  readonly position: Position
  readonly reason: string
  readonly tier: string | null
  readonly decidedAt: string
}

/** The visits of a post, oldest first. */
export function visitsOf(store: Store, { gall_id, post_no }: PostKey): PostVisit[] {
  const name = postName(gall_id, post_no)
  const visits: PostVisit[] = []
  let open: PostVisit['entered'] = null
  for (const position of recordedPositions(store)) {
    const row = enteredRows(store, position).get(name)
    const left = departureAt(store, position, gall_id, post_no)
    if (left !== null) {
      visits.push({ entered: open, left })
      open = null
    }
    // A post that leaves with the call that brings it has no entry.
    if (row !== undefined) open = { position, row }
  }
  return open === null ? visits : [...visits, { entered: open, left: null }]
}

/** Positions of the stored cycles, after those of expired cycles whose entries are kept. */
function* recordedPositions(store: Store): Generator<Position> {
  yield* store.expiry.keptEntries(Number.MAX_SAFE_INTEGER)
  const last = store.lastCycle()?.position ?? 0
  for (let position = store.expiry.firstPosition(); position <= last; position++) yield position
}

function departureAt(store: Store, position: Position, gallId: string, postNo: number): Departure | null {
  const departures = savedDepartures(store.readLeft(position))
  const row = departures?.postNo.findIndex((each, at) => each === postNo && departures.gallIds[at] === gallId)
  if (departures === null || row === undefined || row < 0) return null
  return {
    position,
    reason: removalReasonCodes[departures.reason[row] as number] ?? 'unknown',
    tier: tierCodes[departures.tier[row] as number] ?? null,
    decidedAt: formatInstant(departures.decidedAtMs[row] as number),
  }
}

/** The candidate with which a visit began; null where its record has expired. */
export async function candidateOf(store: Store, { entered }: PostVisit): Promise<Candidate | null> {
  if (entered === null) return null
  const [record] = await readCandidates(store, entered.position, [entered.row])
  return JSON.parse(Buffer.from(record ?? []).toString()) as Candidate
}

/** What one cycle gave the post. */
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
export function cyclesOf(store: Store, visit: PostVisit, key: PostKey): PostCycle[] {
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
