/**
 * Type guards of the request bodies: validators that typia generates from the wire types, and two rules that typia
 * lacks: members that another member's value requires, and lists of distinct items. They stop at the first problem.
 */
import typia from 'typia'
import { cycleShape, outcomesShape, weightsShape, type ValueShape } from './shape.js'
import { isDateTime } from './time.js'
import type { Candidate, CycleRequest, ImagePosition, OutcomesRequest, WeightsRequest } from './wire.js'

// The validators that typia generates here call it by name (see `DateTime` in wire.ts).
export { isDateTime }

/** Without `UniqueItems`: typia compares each item with each, which takes minutes in a list of hostile length. */
interface GuardedCandidate extends Omit<Candidate, 'image_positions'> {
  image_positions?: ImagePosition[]
}

interface GuardedCycle extends Omit<CycleRequest, 'candidates'> {
  candidates: GuardedCandidate[]
}

const hasCycleType = typia.createIs<GuardedCycle>()
const hasOutcomesType = typia.createIs<OutcomesRequest>()
const hasWeightsType = typia.createIs<WeightsRequest>()

export function isCycle(body: unknown): body is CycleRequest {
  return hasCycleType(body) && meetsOtherRules(cycleShape, body)
}

export function isOutcomes(body: unknown): body is OutcomesRequest {
  return hasOutcomesType(body) && meetsOtherRules(outcomesShape, body)
}

export function isWeights(body: unknown): body is WeightsRequest {
  return hasWeightsType(body) && meetsOtherRules(weightsShape, body)
}

/** Checks the rules that typia lacks, on a value that its validator accepts. */
function meetsOtherRules(shape: ValueShape, value: unknown): boolean {
  if (value === undefined || value === null || !hasOtherRules(shape)) return true
  if (shape.kind === 'array') {
    const items = value as unknown[]
    if (shape.unique && hasDuplicates(items as number[])) return false
    return !hasOtherRules(shape.items) || items.every((item) => meetsOtherRules(shape.items, item))
  }
  if (shape.kind !== 'object') return true
  const members = value as Record<string, unknown>
  return shape.members.every(
    ({ name, requiredWhen, value: member }) =>
      (requiredWhen === undefined ||
        members[requiredWhen.member] !== requiredWhen.value ||
        members[name] !== undefined) &&
      meetsOtherRules(member, members[name]),
  )
}

const otherRules = new Map<ValueShape, boolean>()

/** Whether a shape has such a rule anywhere; most lists and members have none. */
function hasOtherRules(shape: ValueShape): boolean {
  let found = otherRules.get(shape)
  if (found === undefined) {
    found =
      (shape.kind === 'array' && (shape.unique || hasOtherRules(shape.items))) ||
      (shape.kind === 'object' &&
        shape.members.some((member) => member.requiredWhen !== undefined || hasOtherRules(member.value)))
    otherRules.set(shape, found)
  }
  return found
}

/**
 * Whether a list contains a number twice. Sorts a copy unless the list ascends already: a `Set` of two million numbers
 * would take a second and a hundred megabytes.
 */
export function hasDuplicates(items: readonly number[]): boolean {
  let ascends = true
  for (let index = 1; index < items.length && ascends; index++) {
    ascends = (items[index - 1] as number) < (items[index] as number)
  }
  if (ascends) return false
  const sorted = Float64Array.from(items).sort()
  for (let index = 1; index < sorted.length; index++) if (sorted[index] === sorted[index - 1]) return true
  return false
}
