/**
 * Yes or no: is a value of a wire type? Validators that typia writes from the types decide, and two rules that they
 * leave out: members required by another one's value, and lists whose items differ. Stops at the first trouble.
 */
import typia from 'typia'
import { cycleShape, outcomesShape, weightsShape, type ValueShape } from './shape.js'
import { isDateTime } from './time.js'
import type { Candidate, CycleRequest, ImagePosition, OutcomesRequest, WeightsRequest } from './wire.js'

// The validators that typia writes into this file call it by name (see `DateTime` in wire.ts).
export { isDateTime }

/** Without `UniqueItems`: typia compares each item with each, which takes minutes in a list of hostile length. */
interface JudgedCandidate extends Omit<Candidate, 'image_positions'> {
  image_positions?: ImagePosition[]
}

interface JudgedCycle extends Omit<CycleRequest, 'candidates'> {
  candidates: JudgedCandidate[]
}

const isJudgedCycle = typia.createIs<JudgedCycle>()
const isJudgedOutcomes = typia.createIs<OutcomesRequest>()
const isJudgedWeights = typia.createIs<WeightsRequest>()

export function isCycle(body: unknown): body is CycleRequest {
  return isJudgedCycle(body) && meetsOtherRules(cycleShape, body)
}

export function isOutcomes(body: unknown): body is OutcomesRequest {
  return isJudgedOutcomes(body) && meetsOtherRules(outcomesShape, body)
}

export function isWeights(body: unknown): body is WeightsRequest {
  return isJudgedWeights(body) && meetsOtherRules(weightsShape, body)
}

/** The rules that typia's validators leave out, of a value that they take. */
function meetsOtherRules(shape: ValueShape, value: unknown): boolean {
  if (value === undefined || value === null || !hasOtherRules(shape)) return true
  if (shape.kind === 'array') {
    const items = value as unknown[]
    if (shape.unique && hasTwins(items as number[])) return false
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

/** Whether there is anything for `meetsOtherRules` to look at; most lists and members have no such rule. */
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
 * Whether a number stands twice in a list. Sorts a copy unless the list ascends already: a set of two million numbers
 * would cost a second and a hundred megabytes.
 */
export function hasTwins(items: readonly number[]): boolean {
  let ascends = true
  for (let index = 1; index < items.length && ascends; index++) {
    ascends = (items[index - 1] as number) < (items[index] as number)
  }
  if (ascends) return false
  const sorted = Float64Array.from(items).sort()
  for (let index = 1; index < sorted.length; index++) if (sorted[index] === sorted[index - 1]) return true
  return false
}
