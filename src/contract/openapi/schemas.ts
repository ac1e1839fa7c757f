/**
 * The JSON schemas of the wire types as the OpenAPI document has them: sorted, and in the forms that generators of other
 * languages read best.
 */
import { inOrder, wireSchemas, type WireSchema } from '../shape.js'

/** JSON schema, draft 2020-12. */
type JsonSchema = Readonly<Record<string, unknown>>

/** The schemas by the name of their type, in alphabetical order. */
export function componentSchemas(): Record<string, JsonSchema> {
  const names = Object.keys(wireSchemas).sort()
  return Object.fromEntries(names.map((name) => [name, convertSchema(wireSchemas[name]!)]))
}

function convertSchema(schema: WireSchema): JsonSchema {
  const { oneOf, items, properties, ...rest } = schema
  if (oneOf !== undefined) return { ...union(oneOf), ...rest }
  return {
    ...rest,
    ...(items === undefined ? {} : { items: convertSchema(items) }),
    ...(properties === undefined ? {} : { properties: mapValues(properties, convertSchema) }),
  }
}

/** An enum in a fixed order, variants of an object, or a value that may be null. */
function union(options: readonly WireSchema[]): JsonSchema {
  const constants = options.flatMap((option) => (option.const === undefined ? [] : [option.const]))
  if (constants.length === options.length) {
    const type = typeof constants[0] === 'number' ? 'integer' : 'string'
    return { type, enum: constants.sort(inOrder) }
  }
  if (options.every(({ $ref }) => $ref !== undefined))
    return { oneOf: options.toSorted((a, b) => inOrder(a.$ref ?? '', b.$ref ?? '')) }
  const [value, ...others] = options.filter((option) => option.type !== 'null').map(convertSchema)
  if (value === undefined || others.length > 0 || options.length !== 2)
    throw new Error(`a union that OpenAPI cannot show: ${JSON.stringify(options)}`)
  if (typeof value['type'] === 'string') return { ...value, type: [value['type'], 'null'] }
  return { oneOf: [value, { type: 'null' }] }
}

function mapValues<T, U>(record: Readonly<Record<string, T>>, map: (value: T) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value)]))
}
