/**
 * Checks request bodies against the wire types. `judge.ts` decides; only a body that it refuses is walked a second
 * time, by `explain.ts`, for the failing paths.
 */
import { explain } from './explain.js'
import { isCycle, isOutcomes, isWeights } from './judge.js'
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
  } else explain(problems, shape, body)
  if (problems.count === 0) throw new Error('a body is refused that has nothing wrong with it')
  return problems
}
