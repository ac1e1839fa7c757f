/**
 * The expected response to a cycle, computed as simply as possible: results by the naive pool, counts by counting,
 * warnings by kind, weights by a search of their history. Independent of the service's code.
 */
import { cycleIdOf, parseInstant, type Candidate, type CycleRequest } from '../../src/contract/index.js'
import type { WeightsSetting } from '../../src/pool/index.js'
import { keyOf, NaivePool, type NaiveResult } from '../helpers/naive-pool.js'

const boundaryMs = 5 * 60_000

export interface ExpectedResponse {
  readonly results: readonly NaiveResult[]
  /** Titles of the pending posts. */
  readonly titles: ReadonlyMap<string, string>
  readonly counts: Readonly<Record<string, number>>
  readonly missingFeatureShare: number
  /** Warnings without the posts that they name, sorted. */
  readonly warnings: readonly string[]
}

export class NaiveService {
  readonly pool = new NaivePool()

  /** The response to the next cycle that is stored. */
  apply(cycle: CycleRequest): ExpectedResponse {
    const entries = entryWarnings(this.pool, cycle)
    const late = lateWarning(this.pool, cycle)
    const wasRemoved = new Set(cycle.engagement.map(keyOf).filter((post) => this.pool.isRemoved(post)))
    const results = this.pool.apply(cycle)
    const titles = new Map<string, string>()
    for (const { post } of results) {
      const record = this.pool.candidateOf(post)
      if (record !== undefined) titles.set(post, record.title)
    }
    const left = new Set(cycle.removals.map(keyOf))
    const ofRemoved = [...new Set(cycle.engagement.map(keyOf))].filter(
      (post) =>
        this.pool.candidateOf(post) === undefined &&
        (wasRemoved.has(post) || (left.has(post) && entries.known.has(post))),
    )
    const count = (status: string): number => results.filter((result) => result.status === status).length
    return {
      results,
      titles,
      counts: {
        candidates: cycle.candidates.length,
        engagement: cycle.engagement.length,
        candidate_scores: cycle.candidate_scores.length,
        removals: cycle.removals.length,
        scored_now: count('scored'),
        waiting: count('waiting'),
        not_scored: count('not_scored'),
        results: results.length,
      },
      missingFeatureShare: missingShare(cycle),
      warnings: [
        ...unknownFields(cycle),
        ...late,
        ...counted('candidate sent again with another record, the first one stays', entries.differing),
        ...counted('removal of a post that is not pending', entries.notPending),
        ...counted('more than one engagement row, the latest counts', duplicateCount(cycle.engagement)),
        ...counted(
          'more than one candidate_scores row, the latest counts',
          duplicateCount(cycle.candidate_scores),
        ),
        ...counted('engagement of a removed post, left out', ofRemoved.length),
      ].sort(),
    }
  }
}

/** Version and weights that apply to a cycle, by their history on the disk. */
export function weightsFor(history: readonly WeightsSetting[], cycleMs: number): WeightsSetting | undefined {
  let inForce = history[0]
  for (const entry of history) if (cycleMs >= entry.firstCycleMs) inForce = entry
  return inForce
}

/** The first boundary after both times. */
export function boundaryAfter(nowMs: number, newestMs: number): number {
  let boundary = Math.ceil(Math.max(nowMs, newestMs) / boundaryMs) * boundaryMs
  if (boundary <= nowMs || boundary <= newestMs) boundary += boundaryMs
  return boundary
}

function entryWarnings(
  pool: NaivePool,
  cycle: CycleRequest,
): { differing: number; notPending: number; known: Set<string> } {
  const first = new Map<string, Candidate>()
  let differing = 0
  for (const candidate of cycle.candidates) {
    const post = keyOf(candidate)
    const earlier = pool.candidateOf(post) ?? first.get(post)
    if (earlier === undefined) first.set(post, candidate)
    else if (recordOf(earlier) !== recordOf(candidate)) differing++
  }
  const left = new Set<string>()
  const known = new Set<string>()
  let notPending = 0
  for (const removal of cycle.removals) {
    const post = keyOf(removal)
    const pending = pool.candidateOf(post) !== undefined || first.has(post)
    if (pending) known.add(post)
    if (pending && !left.has(post)) left.add(post)
    else notPending++
  }
  return { differing, notPending, known }
}

/** The members that the workload varies. */
function recordOf({ title, created_at, extracted_at, source, images_in_post }: Candidate): string {
  return JSON.stringify([title, created_at, extracted_at, source, images_in_post])
}

function lateWarning(pool: NaivePool, cycle: CycleRequest): string[] {
  const at = parseInstant(cycle.cycle_time)?.ms ?? NaN
  if (at >= pool.newestMs) return []
  return [`late cycle: ${cycleIdOf(pool.newestMs)} is already stored; its readings were kept`]
}

function counted(kind: string, count: number): string[] {
  return count === 0 ? [] : [`${kind} (${count})`]
}

function duplicateCount(rows: readonly { gall_id: string; post_no: number }[]): number {
  return rows.length - new Set(rows.map(keyOf)).size
}

function unknownFields(cycle: CycleRequest): string[] {
  const lines: string[] = []
  if ('mood' in cycle) lines.push('unknown field: mood')
  if (cycle.candidates.some((candidate) => 'mood' in candidate))
    lines.push('unknown field: candidates[].mood')
  return lines
}

function missingShare({ engagement }: CycleRequest): number {
  if (engagement.length === 0) return 0
  const values = engagement.flatMap(({ views, up, down, comment_cnt, rtb_vote }) => [
    views,
    up,
    down,
    comment_cnt,
    rtb_vote,
  ])
  return values.filter((value) => value === null).length / values.length
}
