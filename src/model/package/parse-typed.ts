/**
 * Parses the JSON files of a package into their types, and finds where a value departs from the JSON schema that typia
 * generates from the type. The schema declares each rule, and its `title` in words, where they do not follow from numbers.
 */
import type { IJsonSchemaUnit } from 'typia'
import { clipText, isObject } from '../../base/index.js'
import { assert, isDateTime, isWithinChars, pathText, type WireSchema } from '../../contract/index.js'
import { ModelError } from '../model.js'

/** A longer list would not help the author. */
const problemsMax = 50
const valueCharsMax = 200
const list = new Intl.ListFormat('en-GB')

/** The part of JSON schema that the types of packages use, in typia's form. */
export interface JsonSchema extends WireSchema {
  title?: string
  oneOf?: JsonSchema[]
  items?: JsonSchema
  prefixItems?: JsonSchema[]
  additionalItems?: boolean
  minItems?: number
  exclusiveMinimum?: number
  properties?: Record<string, JsonSchema>
  /** The schema of members that `properties` lacks; without it there are no others. */
  additionalProperties?: JsonSchema | false
}

/** Types by their names, to which references refer. */
type Types = Readonly<Record<string, JsonSchema>>
type Path = readonly (string | number)[]

/** The value in `text`. Throws a `ModelError` that names `file`, each failing path and the rule it breaks. */
export function parseTyped<T>(text: string, file: string, type: IJsonSchemaUnit<'3.1', T>): T {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new ModelError(`${file} is not JSON: ${(cause as Error).message}`, { cause })
  }
  const { schema, components } = type
  const problems = [...problemsOf(value, [], schema as JsonSchema, components.schemas as Types)]
  if (problems.length === 0) return value as T
  const more = problems.length - problemsMax
  throw refusal(file, [...problems.slice(0, problemsMax), ...(more > 0 ? [`and ${more} more`] : [])])
}

/** An error that names `file` before each problem. */
export function refusal(file: string, problems: readonly string[]): ModelError {
  return new ModelError(problems.map((problem) => `${file}: ${problem}`).join('\n'))
}

/** Each problem begins with its path, such as `head[1].inputs.features`. */
function* problemsOf(value: unknown, path: Path, schema: JsonSchema, types: Types): Generator<string> {
  const alternatives = alternativesOf(schema, types)
  const meant = meantBy(value, alternatives)
  const [type] = meant
  if (type === undefined || meant.length > 1 || !isWithinLimits(value, type)) {
    yield `${nameOf(path)} must ${ruleOf(value, meant.length === 0 ? alternatives : meant)}`
  } else if (Array.isArray(value)) {
    const { prefixItems = [], items = {}, uniqueItems = false } = type
    for (const [index, item] of value.entries())
      yield* problemsOf(item, [...path, index], prefixItems[index] ?? items, types)
    if (uniqueItems && new Set(value).size < value.length) yield `${nameOf(path)} must not name an item twice`
  } else if (isObject(value)) {
    const { properties = {}, required = [], additionalProperties = false } = type
    for (const [name, member] of Object.entries(value)) {
      const known = Object.hasOwn(properties, name) ? properties[name]! : additionalProperties
      if (known === false) yield `${nameOf([...path, name])} is not known`
      else yield* problemsOf(member, [...path, name], known, types)
    }
    for (const name of required)
      if (!Object.hasOwn(value, name)) yield `${nameOf([...path, name])} is required`
  }
}

function nameOf(path: Path): string {
  return path.length === 0 ? 'the file' : pathText(path)
}

/** The types of a union; otherwise the only one. */
function alternativesOf(schema: JsonSchema, types: Types): JsonSchema[] {
  const { $ref, oneOf } = schema
  if (oneOf !== undefined) return oneOf.flatMap((one) => alternativesOf(one, types))
  if ($ref === undefined) return [schema]
  const target = types[$ref.slice($ref.lastIndexOf('/') + 1)]
  assert(target !== undefined, 'a reference has a schema')
  return alternativesOf(target, types)
}

/** The types that a value can mean: those of its JSON type; of several object types, those with most of its members. */
function meantBy(value: unknown, alternatives: readonly JsonSchema[]): JsonSchema[] {
  const ofType = alternatives.filter((schema) => isOfType(value, schema))
  if (!isObject(value)) return ofType
  const names = Object.keys(value)
  const counts = ofType.map(
    ({ properties = {} }) => names.filter((name) => Object.hasOwn(properties, name)).length,
  )
  return ofType.filter((_, index) => counts[index] === Math.max(...counts))
}

function isOfType(value: unknown, { type, const: literal }: JsonSchema): boolean {
  if (literal !== undefined) return value === literal
  if (type === 'integer') return Number.isInteger(value)
  if (type === 'number') return Number.isFinite(value)
  if (type === 'array') return Array.isArray(value)
  if (type === 'object') return isObject(value)
  return type === (value === null ? 'null' : typeof value)
}

/** Whether a value of the right JSON type keeps the limits of the schema; items and members are not checked. */
function isWithinLimits(value: unknown, schema: JsonSchema): boolean {
  if (typeof value === 'number') {
    const { minimum = -Infinity, exclusiveMinimum = -Infinity, maximum = Infinity } = schema
    return value >= minimum && value > exclusiveMinimum && value <= maximum
  }
  if (typeof value === 'string') {
    const { minLength = 0, maxLength = Infinity, pattern = '', format } = schema
    if (value.length < minLength || !isWithinChars(value, maxLength)) return false
    if (format === 'date') return isDateTime(`${value}T00:00:00Z`)
    return format === 'unicode' ? value.isWellFormed() : new RegExp(pattern, 'u').test(value)
  }
  if (!Array.isArray(value)) return true
  const { prefixItems, minItems = 0, maxItems = Infinity } = schema
  if (prefixItems !== undefined) return value.length === prefixItems.length
  return value.length >= minItems && value.length <= maxItems
}

/** `be an integer from 0 to 255, not -1`. Alternatives are sorted: the compiler decides on the order that they have. */
function ruleOf(value: unknown, alternatives: readonly JsonSchema[]): string {
  if (value === '' && alternatives.some(({ minLength = 0 }) => minLength > 0)) return 'not be empty'
  const literals = alternatives.flatMap(({ const: literal = [] }) => literal)
  const words = [...new Set(alternatives.map(wordsOf))].sort().join(' or ')
  const shown = clipText(typeof value === 'number' ? String(value) : JSON.stringify(value), valueCharsMax)
  return `be ${literals.length > 0 ? `one of ${literals.sort().join(', ')}` : words}, not ${shown}`
}

function wordsOf(schema: JsonSchema): string {
  const { title, type, required = [], prefixItems, minItems, maxItems, exclusiveMinimum, maximum } = schema
  if (title !== undefined) return title
  if (type === 'boolean') return 'true or false'
  if (type === 'integer') return `an integer from ${schema.minimum} to ${maximum}`
  if (schema.maxLength !== undefined) return `Unicode text of at most ${schema.maxLength} characters`
  if (exclusiveMinimum !== undefined)
    return `a number above ${exclusiveMinimum}${maximum === undefined ? '' : `, at most ${maximum}`}`
  if (prefixItems !== undefined) return `an array of ${prefixItems.length} items`
  if (minItems !== undefined && maxItems !== undefined) return `an array of ${minItems} to ${maxItems} items`
  if (minItems !== undefined) return `an array of at least ${minItems} ${minItems === 1 ? 'item' : 'items'}`
  if (required.length > 0) return `an object with ${list.format(required)}`
  return (
    { array: 'an array', null: 'null', number: 'a number', object: 'an object' }[type ?? ''] ?? 'a string'
  )
}
