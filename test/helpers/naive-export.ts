/**
 * The tables of an export from requests and responses alone: the oracle of `understudy export`. Slow and obvious; it shares
 * no code with src/history.
 */
import {
  counterNames,
  cycleIdOf,
  headNames,
  parseInstant,
  snapshotNames,
  type Candidate,
  type CycleRequest,
  type CycleResponse,
} from '../../src/contract/index.js'

export interface RecordedCycle {
  readonly body: CycleRequest
  readonly response: CycleResponse
}

interface NaiveVisit {
  readonly entered: CycleRequest
  readonly candidate: Candidate
  end?: { readonly removal: CycleRequest['removals'][number]; readonly cycle: RecordedCycle }
}

/** What the tables must hold, from the requests and the responses alone. */
export function naiveTables(recorded: readonly RecordedCycle[]): Record<string, object[]> {
  const { visits, visitOf } = naiveVisits(recorded)
  /** The cycle with which a pending post entered, in order of arrival. */
  const pending = new Map<string, CycleRequest>()
  const visitAt = (post: KeyedRow): NaiveVisit | undefined => {
    const entered = pending.get(nameOf(post))
    return entered && visitOf.get(entered)?.get(nameOf(post))
  }
  const tables: Record<string, object[]> = {}
  const add = (table: string, row: object): void => void (tables[table] ??= []).push(row)
  let newest = -Infinity
  for (const [index, { body, response }] of recorded.entries()) {
    const day = dayOf(body.cycle_time)
    const cycle = { cycle_id: body.cycle_id, cycle_time: micros(body.cycle_time), day }
    for (const each of body.candidates) if (!pending.has(nameOf(each))) pending.set(nameOf(each), body)
    for (const each of body.removals) {
      const visit = visitAt(each)
      pending.delete(nameOf(each))
      add('removals', {
        ...cycle,
        ...keyOf(each),
        entered_cycle_id: visit?.entered.cycle_id ?? null,
        reason: each.reason,
        tier: each.tier ?? null,
        reason_code: each.reason_code ?? null,
        decided_at: micros(each.decided_at),
        known_at: micros(response.received_at),
      })
    }
    const at = Date.parse(body.cycle_time)
    const { counts } = response
    add('cycles', {
      ...cycle,
      position: index + 1,
      received_at: micros(response.received_at),
      scored_at: micros(response.scored_at),
      model_version: 'fake-1',
      weights_version: 'initial',
      weight_views: 1,
      weight_comments: 2,
      weight_up: 0,
      weight_downvote_share: 0,
      candidates: counts.candidates,
      engagement: counts.engagement,
      candidate_scores: counts.candidate_scores,
      removals: counts.removals,
      scored: counts.scored_now,
      waiting: counts.waiting,
      not_scored: counts.not_scored,
      results: counts.results,
      missing_feature_share: response.missing_feature_share,
      late: at < newest,
      warnings: response.warnings,
    })
    newest = Math.max(newest, at)
    const scores = response.results.flatMap(({ score }) => (score === null ? [] : [score]))
    for (const row of response.results) {
      const above = scores.filter((score) => score > (row.score ?? NaN)).length
      const tied = scores.filter((score) => score === row.score).length
      const visit = row.reason === 'unknown_post' ? undefined : visitAt(row)
      add('scores', {
        ...cycle,
        ...keyOf(row),
        entered_cycle_id: visit?.entered.cycle_id ?? null,
        status: row.status,
        reason: row.reason ?? null,
        score: row.score === null ? null : Math.fround(row.score),
        rank: row.score === null ? null : above + (tied + 1) / 2,
        ...Object.fromEntries(
          headNames.map((name) => [name, row[name] === undefined ? null : Math.fround(row[name])]),
        ),
        model_version: 'fake-1',
        weights_version: 'initial',
      })
    }
    for (const row of body.engagement)
      add('readings', {
        ...cycle,
        ...keyOf(row),
        observed_at: micros(row.observed_at),
        status: row.status,
        ...Object.fromEntries(counterNames.map((name) => [name, row[name]])),
      })
    for (const row of body.candidate_scores)
      add('snapshots', {
        ...cycle,
        ...keyOf(row),
        snapshot_at: micros(row.snapshot_at),
        ...Object.fromEntries(snapshotNames.map((name) => [name, row[name] ?? null])),
      })
  }
  for (const { entered, candidate: post, end } of visits)
    add('visits', {
      ...keyOf(post),
      entered_cycle_id: entered.cycle_id,
      day: dayOf(entered.cycle_time),
      entered_cycle_time: micros(entered.cycle_time),
      title: post.title,
      created_at: micros(post.created_at),
      extracted_at: micros(post.extracted_at),
      source: post.source,
      manual_flag: post.manual_flag,
      gallery_type: post.gallery_type ?? null,
      category_id: post.category_id ?? null,
      images_in_post: post.images_in_post,
      images_expected: post.image_positions?.length ?? null,
      body_html: null,
      fate: end?.removal.reason ?? null,
      tier: end?.removal.tier ?? null,
      decided_at: micros(end?.removal.decided_at),
      left_cycle_id: end?.cycle.body.cycle_id ?? null,
      fate_known_at: micros(end?.cycle.response.received_at),
    })
  return tables
}

/** Visits in order of cycle_time. `visitOf`: by the request and the name of a candidate, also of one that was pending. */
function naiveVisits(recorded: readonly RecordedCycle[]) {
  const pending = new Map<string, NaiveVisit>()
  const visits: NaiveVisit[] = []
  const visitOf = new Map<CycleRequest, Map<string, NaiveVisit>>()
  const timeOf = ({ body }: RecordedCycle): number => Date.parse(body.cycle_time)
  for (const { body, response } of recorded.toSorted((a, b) => timeOf(a) - timeOf(b))) {
    const own = new Map<string, NaiveVisit>()
    visitOf.set(body, own)
    for (const candidate of body.candidates) {
      const visit = pending.get(nameOf(candidate)) ?? { entered: body, candidate }
      if (!pending.has(nameOf(candidate))) visits.push(visit)
      pending.set(nameOf(candidate), visit)
      own.set(nameOf(candidate), visit)
    }
    for (const removal of body.removals) {
      const visit = pending.get(nameOf(removal))
      pending.delete(nameOf(removal))
      if (visit !== undefined) visit.end = { removal, cycle: { body, response } }
    }
  }
  return { visits, visitOf }
}

interface KeyedRow {
  readonly gall_id: string
  readonly post_no: number
}

function nameOf({ gall_id, post_no }: KeyedRow): string {
  return `${gall_id}/${post_no}`
}

function keyOf({ gall_id, post_no }: KeyedRow): object {
  return { gall_id, post_no }
}

/** Microseconds since 1970. */
export function micros(text: string | null | undefined): number | null {
  const instant = typeof text === 'string' ? parseInstant(text) : null
  return instant === null ? null : instant.ms * 1000 + Math.round(instant.fraction * 1000)
}

/** `YYYY-MM-DD` in KST. */
export function dayOf(text: string): string {
  return cycleIdOf(Date.parse(text)).replace(/^(\d{4})(\d\d)(\d\d)T.*/, '$1-$2-$3')
}
