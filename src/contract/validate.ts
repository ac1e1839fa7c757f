/**
 * Checks request bodies against the wire types: validators that typia generates from the types, and lists of distinct
 * items, which take typia too long.
 */
import typia from 'typia'
import { assert } from './assert.js'
import { findProblems } from './find-problems.js'
import { Problems } from './problems.js'
import { cycleShape, outcomesShape, weightsShape, type ObjectShape, type ValueShape } from './shape.js'
import { isWithinChars } from './text.js'
import { isDateTime } from './time.js'
import type { Candidate, CycleRequest, ImagePosition, OutcomesRequest, WeightsRequest } from './wire.js'

// The validators that typia generates here call them by name (see `DateTime` and `CharsMax` in wire.ts).
export { isDateTime, isWithinChars }

/** Without `UniqueItems`: typia compares each item with each, which takes minutes in a list of hostile length. */
interface TypedCandidate extends Omit<Candidate, 'image_positions'> {
  image_positions?: ImagePosition[]
}

interface TypedCycle extends Omit<CycleRequest, 'candidates'> {
  candidates: TypedCandidate[]
}

/** The problems of a parsed body; null when it matches its type. */
type Check = (body: unknown) => Problems | null

export const checkCycle = checkOf(typia.createIs<TypedCycle>(), cycleShape)
export const checkOutcomes = checkOf(typia.createIs<OutcomesRequest>(), outcomesShape)
export const checkWeights = checkOf(typia.createIs<WeightsRequest>(), weightsShape)

/** Walks the whole body only if typia refuses it. */
function checkOf(hasType: (body: unknown) => boolean, shape: ObjectShape): Check {
  const rest = distinctLists(shape)
  return (body) => {
    const rules = hasType(body) ? rest : shape
    if (rules === null) return null
    const problems = new Problems()
    if (typeof body !== 'object' || body === null || Array.isArray(body))
      problems.add('', 'must be a JSON object')
    else findProblems(problems, rules, body)
    assert(rules === rest || problems.count > 0, 'a body that typia refuses has a problem')
    return problems.count === 0 ? null : problems
  }
}

/** The part of a shape that has lists of distinct items; null if it has none. */
function distinctLists(shape: ValueShape): ValueShape | null {
  if (shape.kind === 'array') {
    const items = shape.unique ? shape.items : distinctLists(shape.items)
    return items === null ? null : { ...shape, items }
  }
  if (shape.kind !== 'object') return null
  const members = shape.members.flatMap((member) => {
    const value = distinctLists(member.value)
    return value === null ? [] : [{ ...member, required: false, requiredWhen: undefined, value }]
  })
  return members.length === 0 ? null : { ...shape, members }
}
