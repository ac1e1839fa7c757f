/**
 * Stages the outcome records of an export, and their readings.
 */
import type { Outcome } from '../../contract/index.js'
import type { Store } from '../../store/index.js'
import type { PostNumbers } from './post-numbers.js'
import type { Staging } from './staging.js'
import { instantOf } from './values.js'

/** A record as stored: with members that the wire type lacks, as received. */
type StoredOutcome = Outcome & { readonly deleted_by?: unknown }

interface Row {
  readonly post: number
  readonly outcome: StoredOutcome
  /** Milliseconds since 1970; NaN where it was not recorded. */
  readonly knownAt: number
}

const rowsPerStep = 5000

/** Those with `fromMs` ≤ `placed_at` ≤ `toMs`. */
export function exportOutcomes(
  store: Store,
  { staging, fromMs, toMs }: { readonly staging: Staging; readonly fromMs: number; readonly toMs: number },
  posts: PostNumbers,
): void {
  const rows: Row[] = []
  for (const { record, arrivedAtMs = NaN } of store.outcomes()) {
    const outcome = JSON.parse(Buffer.from(record).toString()) as StoredOutcome
    const placedAt = instantOf(outcome.placed_at)
    if (!(fromMs <= placedAt && placedAt <= toMs)) continue
    rows.push({ post: posts.number(outcome.gall_id, outcome.post_no), outcome, knownAt: arrivedAtMs })
    if (rows.length >= rowsPerStep) stageRows(staging, rows.splice(0))
  }
  stageRows(staging, rows)
}

function stageRows(staging: Staging, rows: readonly Row[]): void {
  const texts = (of: (outcome: StoredOutcome) => string | null | undefined): (string | null)[] =>
    rows.map(({ outcome }) => of(outcome) ?? null)
  const numbers = (of: (outcome: StoredOutcome) => number | null | undefined): Float64Array =>
    Float64Array.from(rows, ({ outcome }) => of(outcome) ?? NaN)
  staging.append('outcomes', rows.length, {
    post: Int32Array.from(rows, ({ post }) => post),
    placement_id: texts(({ placement_id }) => placement_id),
    tier: texts(({ tier }) => tier),
    picked_by: texts(({ picked_by }) => picked_by.type),
    picked_model_version: texts(({ picked_by }) => picked_by.model_version),
    picked_weights_version: texts(({ picked_by }) => picked_by.weights_version),
    picked_cycle_id: texts(({ picked_by }) => picked_by.cycle_id),
    deleted_by: texts(({ deleted_by }) => textOf(deleted_by)),
    placed_at: numbers(({ placed_at }) => instantOf(placed_at)),
    score_at_placement: numbers(({ score_at_placement }) => score_at_placement),
    views_at_placement: numbers(({ views_at_placement }) => views_at_placement),
    up_at_placement: numbers(({ up_at_placement }) => up_at_placement),
    down_at_placement: numbers(({ down_at_placement }) => down_at_placement),
    comment_at_placement: numbers(({ comment_at_placement }) => comment_at_placement),
    hidden_at: numbers(({ hidden_at }) => instantOf(hidden_at)),
    deleted_at: numbers(({ deleted_at }) => instantOf(deleted_at)),
    known_at: Float64Array.from(rows, ({ knownAt }) => knownAt),
  })
  const readings = rows.flatMap((row) => (row.outcome.readings ?? []).map((reading) => ({ ...row, reading })))
  const counters = (name: 'age_h' | 'views' | 'up' | 'down' | 'comment_cnt'): Float64Array =>
    Float64Array.from(readings, ({ reading }) => reading[name] ?? NaN)
  staging.append('outcome_readings', readings.length, {
    post: Int32Array.from(readings, ({ post }) => post),
    placement_id: readings.map(({ outcome }) => outcome.placement_id),
    ...{ age_h: counters('age_h'), views: counters('views'), up: counters('up') },
    ...{ down: counters('down'), comment_cnt: counters('comment_cnt') },
    placed_at: Float64Array.from(readings, ({ outcome }) => instantOf(outcome.placed_at)),
    observed_at: Float64Array.from(readings, ({ reading }) => instantOf(reading.observed_at)),
    known_at: Float64Array.from(readings, ({ knownAt }) => knownAt),
  })
}

function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null
  return typeof value === 'string' ? value : JSON.stringify(value)
}
