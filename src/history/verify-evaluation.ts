/**
 * Verifies the evaluation record of a cycle against its response, and against the plan of its request where all cycles
 * before it are stored.
 */
import { outcomeCodes, type CycleColumns, type CycleResponse } from '../contract/index.js'
import {
  eventsOf,
  readEvaluationEvents,
  readEvaluationRows,
  readEvaluationScores,
  rowsOf,
} from '../cycle/index.js'
import type { CyclePlan } from '../pool/index.js'
import type { Position } from '../store/index.js'

export interface EvaluationChecks {
  /** Null where it cannot be read. */
  readonly response: CycleResponse | null
  /** The request and its plan; null where earlier cycles have expired. */
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
    const pending = response.results.filter(({ reason }) => reason !== 'unknown_post')
    const codes = pending.map(({ status, reason = null }) =>
      outcomeCodes.findIndex((code) => code.status === status && code.reason === reason),
    )
    const scored = pending.filter(({ status }) => status === 'scored')
    if (!isSame(rows.outcome, codes)) report('the evaluation record has other results than the response')
    if (
      !isSame(
        scores,
        scored.map(({ score }) => Math.fround(score ?? NaN)),
      )
    )
      report('the evaluation record has other scores than the response')
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
