/**
 * A past cycle from its request and response, for cycles that an earlier version stored without an evaluation record.
 */
import type { Codec } from '../../codec/index.js'
import { outcome, outcomeCodes, type CycleColumns, type ResultRow } from '../../contract/index.js'
import { PostMap } from '../../pool/index.js'
import type { Store, StoredCycle } from '../../store/index.js'
import { readBody, readResponse } from '../records.js'
import type { PastCandidates, PastCycle, PastRemovals, PastRows, PastScores } from './past-cycle.js'
import { candidateFacts, type Registry } from './registry.js'

/** The registry knows the entries of all earlier cycles. Rejects where request or response are missing. */
export async function readFromBody(
  store: Store,
  codec: Codec,
  registry: Registry,
  cycle: StoredCycle,
): Promise<PastCycle> {
  const columns = codec.decodeCycle(await readBody(store, cycle.position))
  const { results } = readResponse(store, cycle.cycleId)
  const pending = results.filter(({ reason }) => reason !== 'unknown_post')
  return {
    ...cycle,
    candidates: candidatesOf(columns, registry, cycle),
    removals: removalsOf(columns, registry, cycle),
    rows: rowsOf(pending, registry, cycle),
    scored: scoresOf(pending, columns, registry, cycle),
  }
}

function candidatesOf(
  { candidates, galleries }: CycleColumns,
  registry: Registry,
  { position }: StoredCycle,
): PastCandidates {
  const entered = registry.entriesAt(position)
  const seen = new Set(entered.map((entry) => registry.entries.post(entry)))
  const facts = candidateFacts(candidates)
  const entries = [...entered]
  for (let row = 0; row < candidates.count; row++) {
    const gallId = galleries[candidates.gallery[row] as number] as string
    const post = registry.post(gallId, candidates.postNo[row] as number)
    if (seen.has(post)) continue
    seen.add(post)
    entries.push(registry.addSentAgain(post, position, facts(row)))
  }
  return { count: entries.length, entry: Int32Array.from(entries) }
}

function removalsOf(
  { removals, galleries }: CycleColumns,
  registry: Registry,
  { position }: StoredCycle,
): PastRemovals {
  const gallIdOf = (row: number): string => galleries[removals.gallery[row] as number] as string
  const post = Int32Array.from(removals.postNo, (postNo, row) => registry.post(gallIdOf(row), postNo))
  return {
    ...{ count: removals.count, post, decidedMs: removals.decidedAtMs },
    entry: Int32Array.from(
      removals.postNo,
      (postNo, row) => registry.removedEntry(gallIdOf(row), postNo, position) ?? -1,
    ),
    reason: removals.reason,
    tier: removals.tier,
  }
}

function rowsOf(pending: readonly ResultRow[], registry: Registry, cycle: StoredCycle): PastRows {
  return {
    count: pending.length,
    entry: entriesOf(pending, registry, cycle),
    outcome: Uint8Array.from(pending, ({ status, reason = null }) =>
      outcomeCodes.findIndex((code) => code.status === status && code.reason === reason),
    ),
  }
}

function scoresOf(
  pending: readonly ResultRow[],
  { engagement, galleries }: CycleColumns,
  registry: Registry,
  cycle: StoredCycle,
): PastScores {
  const scored = pending.filter(({ status }) => status === outcomeCodes[outcome.scored].status)
  const readings = new PostMap<string, number>()
  for (let row = 0; row < engagement.count; row++) {
    const gallId = galleries[engagement.gallery[row] as number] as string
    const postNo = engagement.postNo[row] as number
    const known = readings.get(gallId, postNo)
    // The latest reading counts, the last one on a tie.
    if (known === undefined || !isBefore(engagement, row, known)) readings.set(gallId, postNo, row)
  }
  const rows = scored.map(({ gall_id, post_no }) => readings.get(gall_id, post_no) ?? -1)
  const counter = (values: Float64Array): Float64Array => Float64Array.from(rows, (row) => values[row] ?? NaN)
  return {
    count: scored.length,
    entry: entriesOf(scored, registry, cycle),
    score: Float32Array.from(scored, ({ score }) => score ?? NaN),
    views: counter(engagement.views),
    up: counter(engagement.up),
    comment_cnt: counter(engagement.comment_cnt),
    rtb_vote: counter(engagement.rtb_vote),
  }
}

function isBefore({ observedAtMs, observedAtFraction }: CycleColumns['engagement'], a: number, b: number) {
  const difference = (observedAtMs[a] as number) - (observedAtMs[b] as number)
  return (
    difference < 0 ||
    (difference === 0 && (observedAtFraction[a] as number) < (observedAtFraction[b] as number))
  )
}

function entriesOf(results: readonly ResultRow[], registry: Registry, { position }: StoredCycle): Int32Array {
  return Int32Array.from(results, ({ gall_id, post_no }) => {
    const post = registry.post(gall_id, post_no)
    return registry.latestEntry(post, position) ?? registry.addUnknown(post)
  })
}
