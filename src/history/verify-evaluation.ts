/**
 * Verifies the evaluation record of a cycle against its response, and against the plan of its request if all cycles
 * before it are stored.
 */
import type { CycleColumns, CycleResponse } from '../contract/index.js'
import {
  eventsOf,
  readEvaluationEvents,
  readEvaluationRows,
  readEvaluationScores,
  rowsOf,
} from '../cycle/index.js'
import type { CyclePlan } from '../pool/index.js'
import type { Position } from '../store/index.js'
import { outcomeCodeOf, pendingResults } from './records.js'

export interface EvaluationChecks {
  /** Null if it cannot be read. */
  readonly response: CycleResponse | null
  /** The request and its plan; null if earlier cycles have expired. */
  readonly expected: { readonly cycle: CycleColumns; readonly plan: CyclePlan } | null
  /** Called with one line for each problem. */
  readonly report: (problem: string) => void
}

/** Throws for a record that cannot be unpacked. */
export function verifyEvaluation(
  record: Uint8Array,
  position: Position,
  { response, expected, report }: EvaluationChecks,
): void {
  const rows = readEvaluationRows(record, position)
  const events = readEvaluationEvents(record)
  const scores = readEvaluationScores(record)
  if (response !== null) {
    const pending = pendingResults(response)
    if (!isSame(rows.outcome, pending.map(outcomeCodeOf)))
      report('the evaluation record has different results from the response')
    const scored = pending.flatMap(({ status, score }) =>
      status === 'scored' ? [Math.fround(score ?? NaN)] : [],
    )
    if (!isSame(scores, scored)) report('the evaluation record has different scores from the response')
  }
  if (expected === null) return
  const planned = eventsOf(expected.cycle, expected.plan)
  if (!isSameGroup(rows, rowsOf(expected.plan)))
    report('the rows of the evaluation record differ from the request')
  if (!isSameGroup(events.candidates, planned.candidates) || !isSameGroup(events.removals, planned.removals))
    report('the posts of the evaluation record differ from the request')
}

function isSameGroup(a: object, b: object): boolean {
  return Object.entries(a).every(([name, values]) => {
    const others = (b as Record<string, unknown>)[name]
    return typeof values === 'number'
      ? values === others
      : isSame(values as ArrayLike<unknown>, others as ArrayLike<unknown>)
  })
}

function isSame(a: ArrayLike<unknown>, b: ArrayLike<unknown>): boolean {
  return a.length === b.length && Array.prototype.every.call(a, (value, index) => Object.is(value, b[index]))
}
