/**
 * Finds every problem of a value that does not match a shape: in document order, missing members of an object last. Time is linear in the value. Only listed problems take memory, however many there are.
 */
import { isObject } from '../base/json.js'
import { pathText, type Problems } from './problems.js'
import type { MemberShape, ObjectShape, ValueShape } from './shape.js'
import { isWithinChars } from './text.js'
import { dateTimeCharsMax, isDateTime } from './time.js'

const dateTimeExample = '2026-03-02T12:05:00+09:00'

/** Adds the problems of `value` to `problems`: at most one for each path. */
export function findProblems(problems: Problems, shape: ValueShape, value: unknown): void {
  new Walk(problems).check(shape, value)
}

class Walk {
  readonly #problems: Problems
  /** Names and indices from the top of the body to the current value. */
  readonly #path: (string | number)[] = []

  constructor(problems: Problems) {
    this.#problems = problems
  }

  check(shape: ValueShape, value: unknown): void {
    if (value === null && shape.nullable) return
    if (shape.kind === 'object' && isObject(value)) this.#checkMembers(shape, value)
    else if (shape.kind === 'array' && Array.isArray(value)) this.#checkItems(shape, value)
    else if (!isScalar(shape, value)) this.#add(this.#listing ? describe(shape, value) : unlisted)
  }

  #checkMembers(shape: ObjectShape, value: Record<string, unknown>): void {
    const known = membersByName(shape)
    for (const name of Object.keys(value)) {
      const member = known.get(name)
      if (member === undefined || value[name] === undefined) continue
      this.#enter(name)
      this.check(member.value, value[name])
      this.#leave()
    }
    for (const { name, required, requiredWhen } of shape.members) {
      if (value[name] !== undefined) continue
      if (required) this.#addMissing(name, 'is required')
      else if (requiredWhen !== undefined && value[requiredWhen.member] === requiredWhen.value)
        this.#addMissing(name, this.#listing ? conditionText(requiredWhen) : unlisted)
    }
  }

  #checkItems(shape: ValueShape & { kind: 'array' }, items: readonly unknown[]): void {
    if (items.length > shape.countMax) {
      this.#add(`must not have more than ${shape.countMax} rows`)
      return
    }
    const countBefore = this.#problems.count
    for (let index = 0; index < items.length; index++) {
      this.#enter(index)
      this.check(shape.items, items[index])
      this.#leave()
    }
    // Only valid items are searched for duplicates: an invalid one may be of any type.
    if (shape.unique && this.#problems.count === countBefore && hasDuplicates(items as number[]))
      this.#add('must not name an item twice')
  }

  #enter(key: string | number): void {
    this.#path.push(key)
  }

  #leave(): void {
    this.#path.pop()
  }

  get #listing(): boolean {
    return this.#problems.listing
  }

  /** Adds the problem of a missing member. Millions may be missing, so a problem that is only counted gets no path. */
  #addMissing(name: string, problem: string): void {
    if (!this.#listing) {
      this.#problems.addUnlisted()
      return
    }
    this.#enter(name)
    this.#add(problem)
    this.#leave()
  }

  /** Adds a problem of the current value. */
  #add(problem: string): void {
    if (this.#listing) this.#problems.add(pathText(this.#path), problem)
    else this.#problems.addUnlisted()
  }
}

/** Replaces the text of a problem that is only counted. */
const unlisted = ''

const memberTables = new Map<ObjectShape, ReadonlyMap<string, MemberShape>>()

/** Members of a shape by name, cached: the contract has few shapes, and they exist as long as the process. */
function membersByName(shape: ObjectShape): ReadonlyMap<string, MemberShape> {
  let table = memberTables.get(shape)
  if (table === undefined) {
    table = new Map(shape.members.map((member) => [member.name, member]))
    memberTables.set(shape, table)
  }
  return table
}

/** Whether a value matches the shape of a scalar; false for a list or an object. */
function isScalar(shape: ValueShape, value: unknown): boolean {
  switch (shape.kind) {
    case 'string':
      return (
        typeof value === 'string' &&
        value.length >= shape.charsMin &&
        isWithinChars(value, shape.charsMax) &&
        (!shape.unicode || value.isWellFormed()) &&
        (shape.pattern === undefined || patternOf(shape.pattern).test(value))
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

const patterns = new Map<string, RegExp>()

function patternOf(source: string): RegExp {
  let pattern = patterns.get(source)
  if (pattern === undefined) {
    pattern = new RegExp(source)
    patterns.set(source, pattern)
  }
  return pattern
}

function conditionText({ member, value }: { readonly member: string; readonly value: string }): string {
  return `is required when ${member} is ${value}`
}

/** The rule that a value breaks, as a string. */
function describe(shape: ValueShape, value: unknown): string {
  const orNull = shape.nullable ? ' or null' : ''
  switch (shape.kind) {
    case 'string':
      if (shape.pattern !== undefined) return `must be a string that matches ${shape.pattern}${orNull}`
      if (typeof value !== 'string') return `must be a string${orNull}`
      if (value.length < shape.charsMin) return 'must not be empty'
      return isWithinChars(value, shape.charsMax)
        ? 'must be Unicode text, without half of a surrogate pair'
        : `must not have more than ${shape.charsMax} characters`
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

/**
 * Whether a list contains a number twice. Sorts a copy unless the list already ascends: a `Set` of two million numbers
 * would take a second and a hundred megabytes.
 */
export function hasDuplicates(items: readonly number[]): boolean {
  let ascends = true
  for (let index = 1; index < items.length && ascends; index++) {
    ascends = items[index - 1]! < items[index]!
  }
  if (ascends) return false
  const sorted = Float64Array.from(items).sort()
  for (let index = 1; index < sorted.length; index++) if (sorted[index] === sorted[index - 1]) return true
  return false
}
