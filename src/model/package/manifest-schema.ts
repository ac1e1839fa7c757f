/**
 * The JSON schema of `manifest.json`, generated from the TypeScript type: as the parser reads it, and as editors do, of
 * which `docs/manifest.schema.json` is a copy.
 */
import typia from 'typia'
import { headNames } from '../../contract/index.js'
import type { Manifest } from './manifest.js'
import type { JsonSchema } from './parse-typed.js'

/** The schema in typia's form, which the parser takes. */
export const manifestType = typia.json.schema<Manifest>()

/** JSON Schema 2020-12. Rules that a schema cannot express, such as the size of a crop, are in `parseManifest`. */
export function manifestSchema(): object {
  const { Manifest: manifest, ...others } = manifestType.components.schemas as Record<string, JsonSchema>
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Manifest of an Understudy model package',
    ...closeObjects(manifest ?? {}),
    $defs: Object.fromEntries(
      Object.entries(others)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, schema]) => [name, closeObjects(schema)]),
    ),
  }
}

/** The schema as the text of a file. */
export function manifestSchemaText(): string {
  return `${JSON.stringify(manifestSchema(), null, 2)}\n`
}

/**
 * Rewrites references to this document, closes objects to unknown members as the parser does, and sorts unions and heads,
 * whose order otherwise depends on the compiler. Other members stay as they are declared.
 */
function closeObjects<T>(value: T): T {
  if (Array.isArray(value)) return value.map(closeObjects) as T
  if (typeof value !== 'object' || value === null) return value
  const schema = Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, closeObjects(member as unknown)]),
  ) as JsonSchema
  // Doc comments contain line breaks.
  if (typeof schema.description === 'string') schema.description = schema.description.replace(/\n/g, ' ')
  if (schema.prefixItems !== undefined) {
    // typia describes tuples as an older draft does.
    delete schema.additionalItems
    Object.assign(schema, { items: false, minItems: schema.prefixItems.length })
  }
  if (typeof schema.$ref === 'string') schema.$ref = schema.$ref.replace('#/components/schemas/', '#/$defs/')
  schema.oneOf?.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
  if (schema.type === 'object' && schema.properties !== undefined) {
    const members = Object.entries(schema.properties).sort(([a], [b]) => headRank(a) - headRank(b))
    schema.properties = Object.fromEntries(members)
    schema.additionalProperties = false
  }
  return schema as T
}

/** The position of a head in the contract; -1 for every other name. */
function headRank(name: string): number {
  return (headNames as readonly string[]).indexOf(name)
}
