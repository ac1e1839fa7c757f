/**
 * Checks request bodies against the wire types. The type guards of guards.ts decide. If they refuse a body,
 * find-problems.ts walks it again to find the failing paths.
 */
import { assert } from './assert.js'
import { findProblems } from './find-problems.js'
import { isCycle, isOutcomes, isWeights } from './guards.js'
import { Problems } from './problems.js'
import { cycleShape, outcomesShape, weightsShape, type ObjectShape } from './shape.js'

/** The problems of a parsed cycle body, or null when it is a `CycleRequest`. */
export function checkCycle(body: unknown): Problems | null {
  return isCycle(body) ? null : problemsOf(cycleShape, body)
}

/** The problems of a parsed outcomes body, or null when it is an `OutcomesRequest`. */
export function checkOutcomes(body: unknown): Problems | null {
  return isOutcomes(body) ? null : problemsOf(outcomesShape, body)
}

/** The problems of a parsed weights body, or null when it is a `WeightsRequest`. */
export function checkWeights(body: unknown): Problems | null {
  return isWeights(body) ? null : problemsOf(weightsShape, body)
}

function problemsOf(shape: ObjectShape, body: unknown): Problems {
  const problems = new Problems()
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    problems.add('', 'must be a JSON object')
  } else findProblems(problems, shape, body)
  assert(problems.count > 0, 'a body that the type guards refuse has a problem')
  return problems
}
