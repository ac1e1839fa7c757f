/**
 * The JSON schema of `manifest.json`, made of the TypeScript type: editors check a manifest with it while it is
 * written. `docs/manifest.schema.json` is this very text.
 */
import typia from 'typia'
import { headNames } from '../../contract/index.js'
import type { Manifest } from './manifest.js'

/** What of JSON Schema there is in it. */
export interface Schema {
  $ref?: string
  $defs?: Record<string, Schema>
  description?: string
  type?: string
  properties?: Record<string, Schema>
  required?: string[]
  oneOf?: Schema[]
  additionalProperties?: boolean
  items?: Schema | false
  prefixItems?: Schema[]
  minItems?: number
  maxItems?: number
  uniqueItems?: boolean
  minLength?: number
  pattern?: string
  format?: string
  minimum?: number
  exclusiveMinimum?: number
  maximum?: number
  [member: string]: unknown
}

const made = typia.json.schemas<[Manifest]>()

/** JSON Schema 2020-12. What no schema can say (a head given twice, a crop too large) `models verify` says. */
export function manifestSchema(): Schema {
  const { Manifest: manifest, ...others } = (made.components.schemas ?? {}) as unknown as Record<
    string,
    Schema
  >
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Manifest of an Understudy model package',
    ...closed(manifest ?? {}),
    $defs: Object.fromEntries(
      Object.entries(others)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, schema]) => [name, closed(schema)]),
    ),
  }
}

/** The schema as a file. */
export function manifestSchemaText(): string {
  return `${JSON.stringify(manifestSchema(), null, 2)}\n`
}

/**
 * References within one document, and no members but those that are listed: the validator refuses others too. In an
 * order of its own, since that of a union is whatever the compiler met first.
 */
function closed<T>(value: T): T {
  if (Array.isArray(value)) return value.map(closed) as T
  if (typeof value !== 'object' || value === null) return value
  const schema = Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, closed(member as unknown)]),
  ) as Schema
  // Doc comments are wrapped where lines of code end.
  if (typeof schema.description === 'string') schema.description = schema.description.replace(/\n/g, ' ')
  if (schema.prefixItems !== undefined) {
    // What typia writes of a tuple is of an older draft.
    delete schema['additionalItems']
    Object.assign(schema, { items: false, minItems: schema.prefixItems.length })
  }
  if (typeof schema.$ref === 'string') schema.$ref = schema.$ref.replace('#/components/schemas/', '#/$defs/')
  schema.oneOf?.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
  if (schema.type === 'object' && schema.properties !== undefined) {
    schema.properties = inOrder(schema.properties)
    schema.additionalProperties = false
  }
  return schema as T
}

/** Heads in the order of the contract; other members as they are declared. */
function inOrder(properties: Record<string, Schema>): Record<string, Schema> {
  const entries = headNames.flatMap((name) => {
    const member = properties[name]
    return member === undefined ? [] : [[name, member] as const]
  })
  return entries.length === 0 ? properties : Object.fromEntries(entries)
}
