/**
 * The wire types as data: the members of each object and the values that each accepts. Derived from typia's JSON schema
 * of `wire.ts`, so that error messages and the native decoder's table have the types as their source.
 */
import typia from 'typia'
import { assert } from './assert.js'
import { isWithinChars } from './text.js'
import { isDateTime } from './time.js'
import type { BodyTypes } from './operations.js'
import type { ErrorRecord } from './wire.js'

export type ValueShape = { readonly nullable: boolean } & (
  | {
      readonly kind: 'string'
      readonly charsMin: number
      /** Code points. */
      readonly charsMax: number
      readonly pattern?: string
      /** Half of a surrogate pair is refused. */
      readonly unicode: boolean
    }
  | { readonly kind: 'date-time' }
  | { readonly kind: 'integer'; readonly minimum: number; readonly maximum: number }
  | { readonly kind: 'number'; readonly minimum: number; readonly maximum: number }
  | { readonly kind: 'enum'; readonly values: readonly (string | number)[] }
  | {
      readonly kind: 'array'
      readonly items: ValueShape
      readonly countMax: number
      readonly unique: boolean
    }
  | ObjectShape
)

export interface ObjectShape {
  readonly kind: 'object'
  readonly nullable: boolean
  readonly members: readonly MemberShape[]
}

export interface MemberShape {
  readonly name: string
  readonly required: boolean
  /** The member is required too when member `member` of the same object equals `value`. */
  readonly requiredWhen: { readonly member: string; readonly value: string } | undefined
  readonly value: ValueShape
}

// typia's transform inserts these functions into the validators that it generates; schemas do not need them.
export { isDateTime, isWithinChars }

/** JSON schemas (OpenAPI 3.1) of all bodies and of what they contain, by the names of their types. */
export const wireSchemas = typia.json.schemas<[BodyTypes[keyof BodyTypes], ErrorRecord]>().components
  .schemas as Readonly<Record<string, WireSchema>>

export const cycleShape = objectShape('CycleRequest')
export const outcomesShape = objectShape('OutcomesRequest')
export const weightsShape = objectShape('WeightsRequest')

/** The names of all members of bodies. */
export const memberNames: ReadonlySet<string> = new Set(
  Object.values(wireSchemas).flatMap(({ properties }) => Object.keys(properties ?? {})),
)

/** The shape of the rows of a list member, such as `engagement`. */
export function rowShape(parent: ObjectShape, member: string): ObjectShape {
  const value = parent.members.find((m) => m.name === member)?.value
  if (value?.kind !== 'array' || value.items.kind !== 'object')
    throw new Error(`${member} is not a list of objects`)
  return value.items
}

/** The part of JSON schema that the wire types use. */
export interface WireSchema {
  $ref?: string
  oneOf?: WireSchema[]
  const?: string | number
  type?: string
  format?: string
  pattern?: string
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  items?: WireSchema
  maxItems?: number
  uniqueItems?: boolean
  properties?: Record<string, WireSchema>
  required?: string[]
  description?: string
}

function objectShape(name: string): ObjectShape {
  const shape = valueShape({ $ref: `#/components/schemas/${name}` })
  if (shape.kind !== 'object') throw new Error(`${name} is not an object type`)
  return shape
}

function resolve(schema: WireSchema): WireSchema {
  if (schema.$ref === undefined) return schema
  const target = wireSchemas[schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1)]
  if (target === undefined) throw new Error(`no schema ${schema.$ref}`)
  return resolve(target)
}

/**
 * typia lists the members of a union in the order in which the compiler encountered them, which depends on other files.
 * Their indexes are stored on disk as codes, so this order must not change.
 */
export function inOrder(a: string | number, b: string | number): number {
  return a < b ? -1 : 1
}

function valueShape(reference: WireSchema, nullable = false): ValueShape {
  const schema = resolve(reference)
  if (schema.oneOf) {
    const options = schema.oneOf.map(resolve)
    const values = options.filter((option) => option.type !== 'null')
    const orNull = nullable || values.length < options.length
    return mergeShapes(values.map((value) => valueShape(value, orNull)))
  }
  if (schema.const !== undefined) return { kind: 'enum', nullable, values: [schema.const] }
  switch (schema.type) {
    case 'object':
      return { kind: 'object', nullable, members: memberShapes(schema) }
    case 'array':
      return {
        kind: 'array',
        nullable,
        items: valueShape(schema.items ?? {}),
        countMax: schema.maxItems ?? Infinity,
        unique: schema.uniqueItems ?? false,
      }
    case 'integer':
    case 'number':
      return {
        kind: schema.type,
        nullable,
        minimum: schema.minimum ?? -Infinity,
        maximum: schema.maximum ?? Infinity,
      }
    case 'string':
      if (schema.format === 'date-time') return { kind: 'date-time', nullable }
      return {
        kind: 'string',
        nullable,
        charsMin: schema.minLength ?? 0,
        charsMax: schema.maxLength ?? Infinity,
        unicode: schema.format === 'unicode',
        ...(schema.pattern === undefined ? {} : { pattern: schema.pattern }),
      }
    default:
      throw new Error(`no shape for the schema ${JSON.stringify(schema)}`)
  }
}

function memberShapes(schema: WireSchema): MemberShape[] {
  return Object.entries(schema.properties ?? {}).map(([name, property]) => ({
    name,
    required: schema.required?.includes(name) ?? false,
    requiredWhen: undefined,
    value: valueShape(property),
  }))
}

/** The shape of a union: of one shape, of constants, or of objects that the constant of one member distinguishes. */
function mergeShapes(shapes: readonly ValueShape[]): ValueShape {
  const [first] = shapes
  assert(first !== undefined, 'a union has a value that is not null')
  if (shapes.length === 1) return first
  const enums = shapes.filter((shape) => shape.kind === 'enum')
  if (enums.length === shapes.length) {
    const values = new Set(enums.flatMap((shape) => shape.values))
    return { ...first, kind: 'enum', values: [...values].sort(inOrder) }
  }
  const variants = shapes.filter((shape) => shape.kind === 'object')
  assert(variants.length === shapes.length, 'a union is of constants or of objects')
  const names = new Set(variants.flatMap(({ members }) => members.map(({ name }) => name)))
  return { ...first, kind: 'object', members: [...names].map((name) => mergeMembers(name, variants)) }
}

/** A member that only one variant requires is required when another member has the constant of that variant. */
function mergeMembers(name: string, variants: readonly ObjectShape[]): MemberShape {
  const members = variants.flatMap((variant) => variant.members.filter((member) => member.name === name))
  assert(members.length === variants.length, 'variants have the same members')
  const requiring = variants.filter((_, index) => members[index]?.required === true)
  const required = requiring.length === variants.length
  assert(required || requiring.length <= 1, 'at most one variant requires more')
  const [value, ...others] = members.map((member) => member.value)
  assert(value !== undefined, 'a union has a variant')
  return {
    name,
    required,
    requiredWhen: required ? undefined : requiring.map(constantOf)[0],
    value: value.kind === 'enum' ? mergeShapes([value, ...others]) : value,
  }
}

/** The member that has one value in this variant. */
function constantOf({ members }: ObjectShape): MemberShape['requiredWhen'] {
  for (const { name, value } of members)
    if (value.kind === 'enum' && value.values.length === 1)
      return { member: name, value: String(value.values[0]) }
  throw new Error('a variant has a member with one value')
}
