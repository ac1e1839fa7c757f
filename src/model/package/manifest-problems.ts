/**
 * Lists the problems of a value that does not have the shape of a manifest, each with its path and rule, as the
 * validators of requests do. Walks the value along the JSON schema of `manifest.json`.
 */
import { manifestSchema, type Schema } from './manifest-schema.js'

/** A longer list would not help the author. */
const problemsMax = 50
const valueCharsMax = 200
/** The maximum of typia's `uint32`, which the schema omits. */
const integerMax = 2 ** 32 - 1
/** The same pattern as the validator's. */
const dateForm = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/
/** Descriptions of the patterns in the manifest's type. */
const patternTexts: Readonly<Record<string, string>> = {
  '^[A-Za-z0-9][A-Za-z0-9._-]*$':
    'a name of letters, digits, ".", "_" and "-" that begins with a letter or a digit',
  '^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*$':
    'a file of the package, such as head.onnx or text/model.onnx',
  '^[0-9a-f]{64}$': 'a SHA-256 of 64 lower-case hexadecimal digits',
  '[{]title[}]': 'a text that holds {title}',
}

/** Problems, each beginning with its path, such as `head[1].inputs.features`; none for the shape of a manifest. */
export function shapeProblems(value: unknown): string[] {
  const walk = new Walk(manifestSchema())
  walk.check(walk.root, value, '')
  const more = walk.problems.length - problemsMax
  return more > 0 ? [...walk.problems.slice(0, problemsMax), `and ${more} more`] : walk.problems
}

class Walk {
  readonly root: Schema
  readonly problems: string[] = []

  constructor(root: Schema) {
    this.root = root
  }

  check(schema: Schema, value: unknown, place: string): void {
    const target = this.#resolved(schema)
    if (target.oneOf !== undefined) this.#checkChoice(target.oneOf, value, place)
    else if (target.type === 'object' && isObject(value)) this.#checkMembers(target, value, place)
    else if (target.type === 'array' && Array.isArray(value)) this.#checkItems(target, value, place)
    else if (value === '' && target.minLength !== undefined) this.#add(place, 'must not be empty')
    else if (!isScalar(target, value)) this.#mustBe(place, value, describe(target))
  }

  /** One of several values, or of several shapes: reports against the shape that fits best. */
  #checkChoice(choices: readonly Schema[], value: unknown, place: string): void {
    const branches = choices.map((choice) => this.#resolved(choice))
    const values = branches.flatMap((branch) => ('const' in branch ? [branch['const']] : []))
    if (values.length === branches.length) {
      if (!values.includes(value)) this.#mustBe(place, value, `one of ${values.join(', ')}`)
      return
    }
    const kind = Array.isArray(value) ? 'array' : isObject(value) ? 'object' : typeof value
    const fitting = value === null ? [] : branches.filter(({ type }) => type === kind)
    if (fitting.length === 0) this.#mustBe(place, value, branches.map(describe).join(' or '))
    const attempts = fitting.map((branch) => {
      const walk = new Walk(this.root)
      walk.check(branch, value, place)
      return walk.problems
    })
    this.problems.push(...(attempts.sort((a, b) => a.length - b.length)[0] ?? []))
  }

  #checkMembers({ properties = {}, required = [] }: Schema, value: object, place: string): void {
    const of = (name: string): string => (place === '' ? name : `${place}.${name}`)
    for (const [name, member] of Object.entries(value)) {
      const schema = Object.hasOwn(properties, name) ? properties[name] : undefined
      if (schema === undefined) this.#add(of(name), 'is not known')
      else this.check(schema, member, of(name))
    }
    for (const name of required) if (!Object.hasOwn(value, name)) this.#add(of(name), 'is required')
  }

  #checkItems(schema: Schema, items: readonly unknown[], place: string): void {
    const { prefixItems, items: each, minItems = 0, maxItems = Infinity, uniqueItems = false } = schema
    const countMax = prefixItems?.length ?? maxItems
    if (items.length < minItems || items.length > countMax) {
      this.#mustBe(place, items, describe(schema))
      return
    }
    items.forEach((item, index) => {
      const own = prefixItems?.[index] ?? each
      if (typeof own === 'object') this.check(own, item, `${place}[${index}]`)
    })
    if (uniqueItems && new Set(items).size !== items.length) this.#add(place, 'must not name an item twice')
  }

  #resolved(schema: Schema): Schema {
    const name = schema.$ref?.slice('#/$defs/'.length)
    return name === undefined ? schema : (this.root.$defs?.[name] ?? schema)
  }

  #mustBe(place: string, value: unknown, what: string): void {
    const text = JSON.stringify(value)
    const shown = text.length <= valueCharsMax ? text : `${text.slice(0, valueCharsMax)}…`
    this.#add(place, `must be ${what}, and is ${shown}`)
  }

  #add(place: string, problem: string): void {
    this.problems.push(`${place === '' ? 'the manifest' : place} ${problem}`)
  }
}

/** Whether a scalar fits the schema. */
function isScalar(schema: Schema, value: unknown): boolean {
  const { type, pattern, format, minLength = 0 } = schema
  if (type === 'boolean') return typeof value === 'boolean'
  if (type === 'string')
    return (
      typeof value === 'string' &&
      value.length >= minLength &&
      (pattern === undefined || new RegExp(pattern).test(value)) &&
      (format !== 'date' || dateForm.test(value))
    )
  const { minimum = -Infinity, exclusiveMinimum = -Infinity } = schema
  const maximum = schema.maximum ?? (type === 'integer' ? integerMax : Infinity)
  return (
    (type === 'integer' ? Number.isInteger(value) : type === 'number' && typeof value === 'number') &&
    (value as number) >= minimum &&
    (value as number) > exclusiveMinimum &&
    (value as number) <= maximum
  )
}

/** Describes what a value must be. */
function describe(schema: Schema): string {
  const { type, pattern, format, minimum, maximum, exclusiveMinimum } = schema
  switch (type) {
    case 'boolean':
      return 'true or false'
    case 'string':
      if (format === 'date') return 'a date such as 2026-03-02'
      if (pattern !== undefined) return patternTexts[pattern] ?? `a string that matches ${pattern}`
      return 'a string'
    case 'integer':
      return `an integer from ${minimum} to ${maximum ?? integerMax}`
    case 'number':
      if (exclusiveMinimum === undefined) return 'a number'
      return `a number above ${exclusiveMinimum}${maximum === undefined ? '' : `, at most ${maximum}`}`
    case 'array':
      return `an array${countText(schema)}`
    default:
      return 'an object'
  }
}

function countText({ prefixItems, minItems, maxItems }: Schema): string {
  if (prefixItems !== undefined) return ` of ${prefixItems.length} numbers`
  if (minItems === undefined) return ''
  return maxItems === undefined ? ` of at least ${minItems} item` : ` of ${minItems} to ${maxItems} items`
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
