/**
 * Verifies the record of a cycle against its response, and against the plan of its request.
 */
import {
  headNames,
  outcomeCodeOf,
  warningText,
  type CycleColumns,
  type CycleResponse,
} from '../../contract/index.js'
import { plannedTables } from '../../cycle/index.js'
import { scoreRows, type CyclePlan } from '../../pool/index.js'
import { readCycleHeader, readCycleTable, tookEffect, type CycleRows } from '../../records/index.js'
import { pendingResults, postName } from '../recorded/records.js'

export interface RecordChecks {
  /** Null if it cannot be read. */
  readonly response: CycleResponse | null
  readonly cycle: CycleColumns
  readonly plan: CyclePlan
  /** False if earlier cycles have expired: the plan then lacks posts. */
  readonly isComplete: boolean
  /** Called with one line for each problem. */
  readonly report: (problem: string) => void
}

/** Throws for a record that cannot be unpacked. */
export function verifyRecord(record: Uint8Array, checks: RecordChecks): void {
  if (checks.response !== null) compareResponse(record, checks.response, checks.report)
  const { isComplete, report } = checks
  const planned = plannedTables(checks)
  const candidates = readCycleTable(record, 'candidates')
  const removals = readCycleTable(record, 'removals')
  const { entered } = readCycleHeader(record)
  if (isComplete) {
    const isSamePosts = isSame(candidates, planned.candidates) && isSame(removals, planned.removals)
    if (!isSamePosts || entered !== checks.plan.changes.enteredRows.length)
      report('the posts of the record differ from the request')
    const isSameRows =
      isSame(readCycleTable(record, 'results'), planned.results) &&
      isSame(planned.counters, readCycleTable(record, 'scored'))
    if (!isSameRows) report('the rows of the record differ from the request')
    return
  }
  // Posts of expired cycles are missing in the plan: it may contain their entry again, and never their departure.
  const plannedEntered = namesOf(planned.candidates, (row) => row < checks.plan.changes.enteredRows.length)
  const isSubset =
    isPart(
      namesOf(candidates, (row) => row < entered),
      plannedEntered,
    ) && isPart(departures(planned.removals), departures(removals))
  if (!isSubset) report('the posts of the record differ from the request')
}

function compareResponse(record: Uint8Array, response: CycleResponse, report: RecordChecks['report']): void {
  const pending = pendingResults(response)
  const scored = pending.filter(({ status }) => status === 'scored')
  const { outcome } = readCycleTable(record, 'results')
  if (!isSameList(outcome, pending.map(outcomeCodeOf)))
    report('the record has different results from the response')
  const { count, ...heads } = readCycleTable(record, 'heads')
  const { weights, warnings } = readCycleHeader(record)
  const scores = scoreRows(heads, weights, count)
  const isSameScores = isSameList(
    scores,
    scored.map(({ score }) => Math.fround(score ?? NaN)),
  )
  const isSameHeads = headNames.every((name) => {
    const values = scored.map((row) => row[name] ?? null)
    return heads[name] === null
      ? values.every((value) => value === null)
      : isSameList(
          heads[name],
          values.map((value) => Math.fround(value ?? NaN)),
        )
  })
  if (!isSameScores || !isSameHeads) report('the record has different scores from the response')
  if (readCycleTable(record, 'scored').count !== scored.length)
    report('the record of texts and images has different rows from the response')
  if (!isSameList(warnings.map(warningText), response.warnings))
    report('the record has different warnings from the response')
}

/** Each column of `a` is one of `b`, with the same values. */
function isSame(a: object, b: object): boolean {
  return Object.entries(a).every(([name, values]) => {
    const others = (b as Record<string, unknown>)[name]
    return typeof values === 'number'
      ? values === others
      : isSameList(values as ArrayLike<unknown>, others as ArrayLike<unknown>)
  })
}

function isSameList(a: ArrayLike<unknown>, b: ArrayLike<unknown>): boolean {
  return a.length === b.length && Array.prototype.every.call(a, (value, index) => Object.is(value, b[index]))
}

function departures(removals: CycleRows<'removals'>): string[] {
  return namesOf(removals, (row) => tookEffect(removals, row))
}

function namesOf(
  { gall_id, post_no }: Pick<CycleRows<'removals'>, 'gall_id' | 'post_no'>,
  isChosen: (row: number) => boolean,
): string[] {
  return gall_id.flatMap((gallId, row) => (isChosen(row) ? postName(gallId ?? '', post_no[row]!) : []))
}

function isPart(part: readonly string[], whole: readonly string[]): boolean {
  const names = new Set(whole)
  return part.every((name) => names.has(name))
}
