/**
 * Checks request bodies against the wire types. typia's validators decide; this file turns what they report into
 * the failing paths of decisions.md 3: document order, missing members last, one problem a path.
 */
import typia, { type IValidation } from 'typia'
import { Problems } from './problems.js'
import {
  cycleShape,
  outcomesShape,
  rowShape,
  weightsShape,
  type ObjectShape,
  type ValueShape,
} from './shape.js'
import { isDateTime } from './time.js'
import type {
  Candidate,
  CandidateScoreRow,
  CycleRequest,
  EngagementRow,
  Outcome,
  OutcomesRequest,
  Removal,
  WeightsRequest,
} from './wire.js'

// The validators that typia writes into this file call it by name (see `DateTime` in wire.ts).
export { isDateTime }

/** Types and members of one kind of row, or of the members of a body that are no rows. */
interface Rule {
  readonly shape: ObjectShape
  readonly is: (value: unknown) => boolean
  readonly validate: (value: unknown) => IValidation
}

/** A body: its plain members, and its lists whose rows are checked one by one. */
interface BodyRule {
  readonly shape: ObjectShape
  readonly plain: (value: unknown) => IValidation
  readonly rows: ReadonlyMap<string, Rule>
}

const cycleRule: BodyRule = {
  shape: cycleShape,
  plain: typia.createValidate<Pick<CycleRequest, 'cycle_id' | 'cycle_time'>>(),
  rows: new Map<string, Rule>([
    [
      'candidates',
      {
        shape: rowShape(cycleShape, 'candidates'),
        is: typia.createIs<Candidate>(),
        validate: typia.createValidate<Candidate>(),
      },
    ],
    [
      'engagement',
      {
        shape: rowShape(cycleShape, 'engagement'),
        is: typia.createIs<EngagementRow>(),
        validate: typia.createValidate<EngagementRow>(),
      },
    ],
    [
      'candidate_scores',
      {
        shape: rowShape(cycleShape, 'candidate_scores'),
        is: typia.createIs<CandidateScoreRow>(),
        validate: typia.createValidate<CandidateScoreRow>(),
      },
    ],
    [
      'removals',
      {
        shape: rowShape(cycleShape, 'removals'),
        is: typia.createIs<Removal>(),
        validate: typia.createValidate<Removal>(),
      },
    ],
  ]),
}

const outcomesRule: BodyRule = {
  shape: outcomesShape,
  plain: typia.createValidate<object>(),
  rows: new Map([
    [
      'outcomes',
      {
        shape: rowShape(outcomesShape, 'outcomes'),
        is: typia.createIs<Outcome>(),
        validate: typia.createValidate<Outcome>(),
      },
    ],
  ]),
}

const weightsRule: BodyRule = {
  shape: weightsShape,
  plain: typia.createValidate<WeightsRequest>(),
  rows: new Map(),
}

/** The problems of a parsed cycle body, or null when it is a `CycleRequest`. */
export function checkCycle(body: unknown): Problems | null {
  return checkBody(cycleRule, body)
}

/** The problems of a parsed outcomes body, or null when it is an `OutcomesRequest`. */
export function checkOutcomes(body: unknown): Problems | null {
  return checkBody(outcomesRule, body)
}

/** The problems of a parsed weights body, or null when it is a `WeightsRequest`. */
export function checkWeights(body: unknown): Problems | null {
  return checkBody(weightsRule, body)
}

export function isCycleRequest(body: unknown): body is CycleRequest {
  return checkCycle(body) === null
}

export function isOutcomesRequest(body: unknown): body is OutcomesRequest {
  return checkOutcomes(body) === null
}

export function isWeightsRequest(body: unknown): body is WeightsRequest {
  return checkWeights(body) === null
}

function checkBody(rule: BodyRule, body: unknown): Problems | null {
  const problems = new Problems()
  if (!isObject(body)) {
    problems.add('', 'must be a JSON object')
    return problems
  }
  const plain = located(rule.plain(body), rule.shape, body)
  for (const name of Object.keys(body)) {
    const rows = rule.rows.get(name)
    if (rows) checkRows(problems, name, rows, memberShape(rule.shape, name), body[name])
    else
      addAll(
        problems,
        '',
        plain.filter((p) => p.keys[0] === name && !p.missingAtTop),
      )
  }
  for (const member of rule.shape.members) {
    if (member.required && !Object.hasOwn(body, member.name)) problems.add(member.name, 'is required')
  }
  return problems.count === 0 ? null : problems
}

function checkRows(problems: Problems, name: string, rule: Rule, list: ValueShape, rows: unknown): void {
  if (list.kind !== 'array') throw new Error(`${name} is no list`)
  if (!Array.isArray(rows)) {
    problems.add(name, describe(list))
    return
  }
  if (rows.length > list.countMax) {
    problems.add(name, `must not have more than ${list.countMax} rows`)
    return
  }
  for (let index = 0; index < rows.length && !problems.full; index++) {
    const row: unknown = rows[index]
    if (rule.is(row) && meetsConditions(rule.shape, row as Record<string, unknown>)) continue
    const path = `${name}[${index}]`
    if (isObject(row)) addAll(problems, path, located(rule.validate(row), rule.shape, row))
    else problems.add(path, 'must be an object')
  }
}

function meetsConditions(shape: ObjectShape, row: Record<string, unknown>): boolean {
  return shape.members.every(
    ({ name, requiredWhen, value }) =>
      (requiredWhen === undefined ||
        row[requiredWhen.member] !== requiredWhen.value ||
        row[name] !== undefined) &&
      (value.kind !== 'object' ||
        row[name] === undefined ||
        meetsConditions(value, row[name] as Record<string, unknown>)),
  )
}

// ---- from typia's report to paths in document order

interface Located {
  readonly keys: readonly (string | number)[]
  readonly problem: string
  /** Position of each key in its parent; members that are missing come after those that are there. */
  readonly order: readonly number[]
  readonly missingAtTop: boolean
}

function located(report: IValidation, shape: ObjectShape, root: Record<string, unknown>): Located[] {
  const found = new Map<string, Located>()
  const add = (keys: (string | number)[], problem?: string): void => {
    const place = locate(keys, shape, root, problem)
    const path = place.keys.join('\u0000')
    if (!found.has(path)) found.set(path, place)
  }
  if (!report.success) for (const error of report.errors) add(keysOf(error.path))
  for (const { keys, problem } of unmetConditions(shape, root, [])) add(keys, problem)
  return [...found.values()].sort(compareOrder)
}

function locate(
  keys: readonly (string | number)[],
  shape: ObjectShape,
  root: unknown,
  problem?: string,
): Located {
  const order: number[] = []
  let value = root
  let at: ValueShape = shape
  for (const [depth, key] of keys.entries()) {
    // typia takes an array for an object without members; the contract does not.
    if (typeof key === 'string' && Array.isArray(value)) {
      return { keys: keys.slice(0, depth), problem: 'must be an object', order, missingAtTop: false }
    }
    if (typeof key === 'number') {
      order.push(key)
      at = at.kind === 'array' ? at.items : at
    } else {
      const position = isObject(value) ? Object.keys(value).indexOf(key) : -1
      const members: ObjectShape['members'] = at.kind === 'object' ? at.members : []
      const memberIndex = members.findIndex((m) => m.name === key)
      order.push(position < 0 ? 1e6 + memberIndex : position)
      at = members[memberIndex]?.value ?? at
    }
    value = (value as Record<string | number, unknown> | null | undefined)?.[key]
  }
  const missing = value === undefined
  return {
    keys,
    problem: problem ?? (missing ? 'is required' : describe(at, value)),
    order,
    missingAtTop: missing && keys.length === 1,
  }
}

function unmetConditions(
  shape: ObjectShape,
  value: unknown,
  parent: (string | number)[],
): { keys: (string | number)[]; problem: string }[] {
  if (!isObject(value)) return []
  return shape.members.flatMap(({ name, requiredWhen, value: member }) => {
    const keys = [...parent, name]
    if (requiredWhen && value[requiredWhen.member] === requiredWhen.value && value[name] === undefined) {
      return [{ keys, problem: `is required when ${requiredWhen.member} is ${requiredWhen.value}` }]
    }
    return member.kind === 'object' ? unmetConditions(member, value[name], keys) : []
  })
}

/** `$input.image_positions[2]` → ['image_positions', 2]. Members of the wire types are plain identifiers. */
function keysOf(path: string): (string | number)[] {
  return [...path.matchAll(/\.(\w+)|\[(\d+)\]/g)].map(([, name, index]) => name ?? Number(index))
}

function compareOrder(a: Located, b: Located): number {
  const count = Math.min(a.order.length, b.order.length)
  for (let i = 0; i < count; i++) {
    const difference = (a.order[i] as number) - (b.order[i] as number)
    if (difference !== 0) return difference
  }
  return a.order.length - b.order.length
}

function addAll(problems: Problems, prefix: string, places: readonly Located[]): void {
  for (const { keys, problem } of places) {
    const tail = keys.map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`)).join('')
    problems.add(prefix === '' ? tail.replace(/^\./, '') : prefix + tail, problem)
  }
}

/** The rule that a value breaks, in words. */
function describe(shape: ValueShape, value?: unknown): string {
  const orNull = shape.nullable ? ' or null' : ''
  switch (shape.kind) {
    case 'string':
      if (shape.pattern !== undefined) return `must be a string that matches ${shape.pattern}${orNull}`
      return shape.charsMin > 0 && value === '' ? 'must not be empty' : `must be a string${orNull}`
    case 'date-time':
      return `must be an RFC 3339 date-time with an explicit offset${orNull}`
    case 'integer':
      return `must be an integer from ${shape.minimum} to ${shape.maximum}${orNull}`
    case 'number':
      return `must be a number from ${shape.minimum} to ${shape.maximum}${orNull}`
    case 'enum':
      return `must be one of ${shape.values.join(', ')}${orNull}`
    case 'array':
      return shape.unique && Array.isArray(value)
        ? 'must not name an item twice'
        : `must be an array${orNull}`
    case 'object':
      return `must be an object${orNull}`
  }
}

function memberShape(shape: ObjectShape, name: string): ValueShape {
  const member = shape.members.find((m) => m.name === name)
  if (member === undefined) throw new Error(`no member ${name}`)
  return member.value
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
