/**
 * Checks request bodies against the shapes of the wire types, and finds every failing path: in document order, missing
 * members of an object last (decisions.md 3). Time is linear in the body. Only listed problems take memory, however many
 * there are.
 */
import { pathText, Problems } from './problems.js'
import { cycleShape, outcomesShape, weightsShape, type ObjectShape, type ValueShape } from './shape.js'
import { dateTimeCharsMax, isDateTime } from './time.js'

const dateTimeExample = '2026-03-02T12:05:00+09:00'

/** The problems of a parsed cycle body, or null when it is a `CycleRequest`. */
export function checkCycle(body: unknown): Problems | null {
  return problemsOf(cycleShape, body)
}

/** The problems of a parsed outcomes body, or null when it is an `OutcomesRequest`. */
export function checkOutcomes(body: unknown): Problems | null {
  return problemsOf(outcomesShape, body)
}

/** The problems of a parsed weights body, or null when it is a `WeightsRequest`. */
export function checkWeights(body: unknown): Problems | null {
  return problemsOf(weightsShape, body)
}

function problemsOf(shape: ObjectShape, body: unknown): Problems | null {
  const walk = new Walk()
  if (isObject(body)) walk.check(shape, body)
  else walk.problems.add('', 'must be a JSON object')
  return walk.problems.count === 0 ? null : walk.problems
}

/** A walk through a body; adds at most one problem for each path. */
class Walk {
  readonly problems = new Problems()
  /** Names and indices from the top of the body to the current value. */
  readonly #path: (string | number)[] = []

  check(shape: ValueShape, value: unknown): void {
    if (value === null && shape.nullable) return
    if (shape.kind === 'object' && isObject(value)) this.#checkMembers(shape, value)
    else if (shape.kind === 'array' && Array.isArray(value)) this.#checkItems(shape, value)
    else if (!isScalar(shape, value)) this.#add(() => ruleText(shape, value))
  }

  #checkMembers(shape: ObjectShape, value: Record<string, unknown>): void {
    for (const name of Object.keys(value)) {
      const member = shape.membersByName.get(name)
      if (member === undefined || value[name] === undefined) continue
      this.#path.push(name)
      this.check(member.value, value[name])
      this.#path.pop()
    }
    for (const { name, required, requiredWhen } of shape.members) {
      if (value[name] !== undefined) continue
      if (required) this.#add(() => 'is required', name)
      else if (requiredWhen !== undefined && value[requiredWhen.member] === requiredWhen.value)
        this.#add(() => `is required when ${requiredWhen.member} is ${requiredWhen.value}`, name)
    }
  }

  #checkItems(shape: ValueShape & { kind: 'array' }, items: readonly unknown[]): void {
    if (items.length > shape.countMax) {
      this.#add(() => `must not have more than ${shape.countMax} rows`)
      return
    }
    const countBefore = this.problems.count
    for (let index = 0; index < items.length; index++) {
      this.#path.push(index)
      this.check(shape.items, items[index])
      this.#path.pop()
    }
    // Only valid items are searched for duplicates: an invalid one may be of any type.
    if (shape.unique && this.problems.count === countBefore && hasDuplicates(items as number[]))
      this.#add(() => 'must not name an item twice')
  }

  /** Adds a problem of the current value, or of its member `name`. One that is only counted gets no path and no text. */
  #add(text: () => string, name?: string): void {
    if (!this.problems.listing) this.problems.addUnlisted()
    else this.problems.add(pathText(name === undefined ? this.#path : [...this.#path, name]), text())
  }
}

/** Whether a value matches the shape of a scalar; false for a list or an object. */
function isScalar(shape: ValueShape, value: unknown): boolean {
  switch (shape.kind) {
    case 'string':
      return (
        typeof value === 'string' &&
        value.length >= shape.charsMin &&
        (shape.pattern === undefined || shape.pattern.test(value))
      )
    case 'date-time':
      return typeof value === 'string' && isDateTime(value)
    case 'integer':
      return Number.isInteger(value) && isWithin(shape, value as number)
    case 'number':
      return typeof value === 'number' && isWithin(shape, value)
    case 'enum':
      return (shape.values as readonly unknown[]).includes(value)
    case 'array':
    case 'object':
      return false
  }
}

function isWithin(range: { readonly minimum: number; readonly maximum: number }, value: number): boolean {
  return value >= range.minimum && value <= range.maximum
}

/** The rule that a value breaks, as text. */
function ruleText(shape: ValueShape, value: unknown): string {
  const orNull = shape.nullable ? ' or null' : ''
  switch (shape.kind) {
    case 'string':
      if (shape.pattern !== undefined) return `must be a string that matches ${shape.pattern.source}${orNull}`
      return shape.charsMin > 0 && value === '' ? 'must not be empty' : `must be a string${orNull}`
    case 'date-time':
      if (typeof value === 'string' && value.length > dateTimeCharsMax)
        return `must not have more than ${dateTimeCharsMax} characters`
      return `must be an RFC 3339 date-time that exists, with an explicit offset, such as ${dateTimeExample}${orNull}`
    case 'integer':
      return `must be an integer from ${shape.minimum} to ${shape.maximum}${orNull}`
    case 'number':
      return `must be a number from ${shape.minimum} to ${shape.maximum}${orNull}`
    case 'enum':
      return `must be one of ${shape.values.join(', ')}${orNull}`
    case 'array':
      return `must be an array${orNull}`
    case 'object':
      return `must be an object${orNull}`
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
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
